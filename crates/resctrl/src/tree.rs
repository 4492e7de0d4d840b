//! The tree of directories and files, as kernfs keeps it.

use std::collections::BTreeMap;

use crate::file::File;
use crate::group::GroupId;
use crate::{Attributes, DirectoryEntry, MonitorEvent};

/// Names a node as long as it lives, and no other afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(pub u64);

/// What a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Directory {
    /// A group, the root included.
    Group(GroupId),
    /// `mon_groups` of a group.
    MonitoringGroups(GroupId),
    /// `mon_data` of a group, or a domain within.
    MonitoringData(GroupId),
    /// `info`.
    Info,
    /// A directory of a schema within `info`.
    Schema(usize),
    /// `info/L3_MON`.
    Monitoring,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Directory(Directory),
    File(File),
    /// A counter: domain (by index) and event.
    Counter(usize, MonitorEvent),
}

/// A directory or file.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub name: Vec<u8>,
    pub parent: Option<NodeId>,
    pub content: Content,
    /// Permissions.
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    /// By hash and name: the order in which kernfs lists a directory.
    children: BTreeMap<(u32, Vec<u8>), NodeId>,
}

/// The owner and permissions of new nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    pub uid: u32,
    pub gid: u32,
}

/// All nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    nodes: BTreeMap<NodeId, Node>,
    next: u64,
    /// Whether the kernel's hash of names takes bytes as signed.
    signed_names: bool,
}

impl Tree {
    pub const ROOT: NodeId = NodeId(1);

    /// A tree without nodes.
    pub fn new(signed_names: bool) -> Self {
        Tree { signed_names, ..Self::default() }
    }

    /// Removes all nodes. Numbers are used again: the next root is number 1.
    pub fn clear(&mut self) {
        *self = Self::new(self.signed_names);
    }

    fn hash(&self, name: &[u8]) -> u32 {
        name_hash(name, self.signed_names)
    }

    pub fn add(&mut self, parent: Option<NodeId>, name: &[u8], content: Content, mode: u32, owner: Owner) -> NodeId {
        self.next += 1;
        let id = NodeId(self.next);
        let node = Node {
            name: name.to_vec(),
            parent,
            content,
            mode,
            uid: owner.uid,
            gid: owner.gid,
            children: BTreeMap::new(),
        };
        self.nodes.insert(id, node);
        self.link(id);
        id
    }

    /// A directory with its parent's permissions.
    pub fn add_directory(&mut self, parent: NodeId, name: &[u8], what: Directory, owner: Owner) -> NodeId {
        let mode = self.node(parent).mode;
        self.add(Some(parent), name, Content::Directory(what), mode, owner)
    }

    fn link(&mut self, id: NodeId) {
        let node = self.node(id);
        let (key, parent) = ((self.hash(&node.name), node.name.clone()), node.parent);
        if let Some(parent) = parent {
            self.node_mut(parent).children.insert(key, id);
        }
    }

    fn unlink(&mut self, id: NodeId) {
        let node = self.node(id);
        let (key, parent) = ((self.hash(&node.name), node.name.clone()), node.parent);
        if let Some(parent) = parent {
            self.node_mut(parent).children.remove(&key);
        }
    }

    /// Changes the name or place of a node.
    pub fn rename(&mut self, id: NodeId, parent: NodeId, name: &[u8]) {
        self.unlink(id);
        let node = self.node_mut(id);
        node.parent = Some(parent);
        node.name = name.to_vec();
        self.link(id);
    }

    /// Removes a node with all below it.
    pub fn remove(&mut self, id: NodeId) {
        self.unlink(id);
        self.forget(id);
    }

    fn forget(&mut self, id: NodeId) {
        if let Some(node) = self.nodes.remove(&id) {
            node.children.into_values().for_each(|child| self.forget(child));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub fn find(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(&id)
    }

    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[&id]
    }

    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        self.nodes.get_mut(&id).expect("a node that is named is there")
    }

    pub fn name(&self, id: NodeId) -> &[u8] {
        &self.node(id).name
    }

    pub fn child(&self, parent: NodeId, name: &[u8]) -> Option<NodeId> {
        self.node(parent).children.get(&(self.hash(name), name.to_vec())).copied()
    }

    pub fn is_directory(&self, id: NodeId) -> bool {
        matches!(self.node(id).content, Content::Directory(_))
    }

    /// The nodes directly below a directory.
    pub fn children(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.node(id).children.values().copied()
    }

    pub fn entries(&self, id: NodeId) -> Vec<DirectoryEntry> {
        let entry = |id| DirectoryEntry { name: self.name(id).to_vec(), directory: self.is_directory(id) };
        self.children(id).map(entry).collect()
    }

    pub fn attributes(&self, id: NodeId) -> Attributes {
        let node = self.node(id);
        let directory = self.is_directory(id);
        let directories = self.children(id).filter(|&child| self.is_directory(child)).count() as u32;
        let links = if directory { 2 + directories } else { 1 };
        Attributes { inode: id.0, directory, mode: node.mode, links, uid: node.uid, gid: node.gid }
    }

    /// The group that a directory belongs to; for a file, that of its directory.
    pub fn group(&self, id: NodeId) -> Option<GroupId> {
        match self.node(id).content {
            Content::Directory(
                Directory::Group(group) | Directory::MonitoringGroups(group) | Directory::MonitoringData(group),
            ) => Some(group),
            Content::Directory(_) => None,
            Content::File(_) | Content::Counter(..) => self.group(self.node(id).parent?),
        }
    }

    /// Whether a node is the same as another or lies below it.
    pub fn is_within(&self, id: NodeId, outer: NodeId) -> bool {
        id == outer || self.node(id).parent.is_some_and(|parent| self.is_within(parent, outer))
    }
}

/// The hash that kernfs orders names by (kernfs_name_hash on a machine with 64 bits). A signed byte is extended.
fn name_hash(name: &[u8], signed: bool) -> u32 {
    const GOLDEN_RATIO_64: u64 = 0x61c8_8646_80b5_83eb;
    let sum = name.iter().fold(0_u64, |hash, &byte| {
        let byte = if signed { i64::from(byte.cast_signed()).cast_unsigned() } else { u64::from(byte) };
        hash.wrapping_add(byte << 4).wrapping_add(byte >> 4).wrapping_mul(11)
    });
    let hash = (sum.wrapping_mul(GOLDEN_RATIO_64) >> 32) as u32 & 0x7fff_ffff;
    // 0, 1 and the greatest are kept for `.`, `..` and the end.
    if hash < 2 { hash + 2 } else { hash.min(i32::MAX as u32 - 1) }
}
