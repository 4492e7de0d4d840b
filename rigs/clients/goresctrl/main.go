// A client of resctrl that stands on Intel's goresctrl module: it puts a configuration in force, moves tasks into one
// of its classes and prints what the module sees, one line a fact, for the script that called it.
package main

import (
	"fmt"
	"os"
	"sort"

	"github.com/intel/goresctrl/pkg/rdt"
)

const usage = "usage: goresctrl CONFIG CLASS [PID ...]"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "goresctrl:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) < 2 {
		return fmt.Errorf("%s", usage)
	}
	config, name, pids := arguments[0], arguments[1], arguments[2:]
	if err := rdt.Initialize(""); err != nil {
		return fmt.Errorf("Initialize: %w", err)
	}
	if err := rdt.SetConfigFromFile(config, true); err != nil {
		return fmt.Errorf("SetConfigFromFile: %w", err)
	}
	class, found := rdt.GetClass(name)
	if !found {
		return fmt.Errorf("GetClass: no class %s", name)
	}
	if err := class.AddPids(pids...); err != nil {
		return fmt.Errorf("AddPids: %w", err)
	}
	for _, each := range rdt.GetClasses() {
		fmt.Println("class", each.Name())
	}
	members, err := class.GetPids()
	if err != nil {
		return fmt.Errorf("GetPids: %w", err)
	}
	for _, pid := range members {
		fmt.Println("pid", pid)
	}
	group, err := class.CreateMonGroup("watched", nil)
	if err != nil {
		return fmt.Errorf("CreateMonGroup: %w", err)
	}
	fmt.Println("monitors", rdt.MonSupported(), group.Name())
	show(class.GetMonData())
	if err := class.DeleteMonGroup("watched"); err != nil {
		return fmt.Errorf("DeleteMonGroup: %w", err)
	}
	return nil
}

// show prints the monitoring data of a class: cache id, event and value.
func show(data rdt.MonData) {
	for id, leaf := range data.L3 {
		events := make([]string, 0, len(leaf))
		for event := range leaf {
			events = append(events, event)
		}
		sort.Strings(events)
		for _, event := range events {
			fmt.Println("data", id, event, leaf[event])
		}
	}
}
