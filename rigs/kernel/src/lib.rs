//! The differential test of the resctrl model: random sequences of operations go to a real kernel and to the model, and
//! every answer is compared.
//!
//! [`setup`] lists the emulated machines, [`generate`] makes sequences that look at the model's state, [`step`] is what
//! they are made of, [`text`] writes and reads them. [`real`] (in the guest) carries steps out on the kernel,
//! [`modelled`] on the model; [`compare`] runs both and shrinks a sequence that ends in a difference. The rest is the
//! host's side: [`provide`] has QEMU and kernels ready, [`boot`] runs a guest.

pub mod astray;
pub mod boot;
pub mod circle;
pub mod compare;
pub mod doctor;
pub mod generate;
pub mod image;
pub mod initramfs;
pub mod launch;
pub mod modelled;
pub mod own_task;
pub mod plan;
pub mod provide;
pub mod real;
pub mod session;
pub mod setup;
pub mod step;
pub mod text;
