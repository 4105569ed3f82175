// Command sbom writes the bill of materials of a built program: the modules that its build
// information names, as CycloneDX in JSON. The same program has the same bill.
//
//	go run ./sbom PROGRAM FILE
package main

import (
	"debug/buildinfo"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM FILE")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(program, to string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("read the build information: %w", err)
	}
	file, err := os.Create(to)
	if err != nil {
		return err
	}
	encoder := cdx.NewBOMEncoder(file, cdx.BOMFileFormatJSON).SetPretty(true)
	if err := encoder.EncodeVersion(bill(info, filepath.Base(program)), cdx.SpecVersion1_6); err != nil {
		return fmt.Errorf("write the bill of materials: %w", err)
	}
	return file.Close()
}

// bill lists the standard library and each module, with the hash by which go.sum knows it.
func bill(info *buildinfo.BuildInfo, name string) *cdx.BOM {
	program := component(&info.Main)
	program.Type, program.Name = cdx.ComponentTypeApplication, name
	properties := []cdx.Property{}
	for _, setting := range info.Settings {
		properties = append(properties, cdx.Property{Name: "go:build:" + setting.Key, Value: setting.Value})
	}
	program.Properties = &properties
	components := []cdx.Component{component(&debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")})}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		components = append(components, component(module))
	}
	var needed []string
	for i := range components {
		needed = append(needed, components[i].BOMRef)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &program}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: program.BOMRef, Dependencies: &needed}}
	return bom
}

func component(module *debug.Module) cdx.Component {
	packageURL := "pkg:golang/" + module.Path + "@" + url.QueryEscape(module.Version)
	c := cdx.Component{
		Type: cdx.ComponentTypeLibrary, BOMRef: packageURL, PackageURL: packageURL, Name: module.Path, Version: module.Version,
	}
	if module.Sum != "" {
		c.Properties = &[]cdx.Property{{Name: "go:sum", Value: module.Sum}}
	}
	return c
}
