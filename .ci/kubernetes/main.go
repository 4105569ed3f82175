// Command kubernetes checks manifests as "kustomize build DIRECTORY | kubeconform -strict" does, with
// the schemas of one version of Kubernetes: those of the OpenAPI document in its sources.
//
//	go run . SWAGGER-JSON DIRECTORY
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/yannh/kubeconform/pkg/validator"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: kubernetes SWAGGER-JSON DIRECTORY")
		os.Exit(2)
	}
	if err := check(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(swagger, directory string) error {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		return fmt.Errorf("kustomize build: %w", err)
	}
	manifests, err := built.AsYaml()
	if err != nil {
		return fmt.Errorf("kustomize build: %w", err)
	}
	schemas, err := os.MkdirTemp("", "schemas")
	if err != nil {
		return err
	}
	defer os.RemoveAll(schemas)
	if err := writeSchemas(swagger, schemas, built); err != nil {
		return err
	}
	checker, err := validator.New([]string{filepath.Join(schemas, "{{.ResourceKind}}{{.KindSuffix}}.json")}, validator.Opts{Strict: true})
	if err != nil {
		return err
	}
	valid, faults := 0, 0
	for _, result := range checker.Validate(directory, io.NopCloser(bytes.NewReader(manifests))) {
		signature, err := result.Resource.Signature()
		switch {
		case err == nil && result.Status == validator.Valid:
			valid++
			fmt.Println("valid:", signature.QualifiedName())
		case result.Status != validator.Empty:
			faults++
			fmt.Fprintf(os.Stderr, "%v: %v\n", signature, result.Err)
		}
	}
	if valid == 0 || faults > 0 {
		return fmt.Errorf("%d manifests are valid, %d are not", valid, faults)
	}
	return nil
}

// writeSchemas writes a schema for each kind of resources, by the name under which kubeconform
// looks for it. Members that the document does not have are refused.
func writeSchemas(swagger, to string, of resmap.ResMap) error {
	files := map[string]bool{}
	for _, resource := range of.Resources() {
		kind := resource.GetGvk()
		files[fileName(kind.Group, kind.Version, kind.Kind)] = true
	}
	text, err := os.ReadFile(swagger)
	if err != nil {
		return err
	}
	var document struct {
		Definitions map[string]map[string]any `json:"definitions"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return fmt.Errorf("%s: %w", swagger, err)
	}
	for name, definition := range document.Definitions {
		if _, listed := definition["properties"]; listed {
			definition["additionalProperties"] = false
		}
		// A number or a text: the document has a format alone for that.
		if strings.HasSuffix(name, ".util.intstr.IntOrString") {
			definition["type"] = []string{"string", "integer"}
		}
	}
	definitions, err := json.Marshal(document.Definitions)
	if err != nil {
		return err
	}
	for name, definition := range document.Definitions {
		kinds, _ := definition["x-kubernetes-group-version-kind"].([]any)
		for _, each := range kinds {
			kind, _ := each.(map[string]any)
			group, _ := kind["group"].(string)
			version, _ := kind["version"].(string)
			file := fileName(group, version, fmt.Sprint(kind["kind"]))
			if !files[file] {
				continue
			}
			schema := fmt.Sprintf(`{"$ref":%q,"definitions":%s}`, "#/definitions/"+name, definitions)
			if err := os.WriteFile(filepath.Join(to, file), []byte(schema), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// fileName is where kubeconform looks for the schema of a kind.
func fileName(group, version, kind string) string {
	name := strings.ToLower(kind)
	if group != "" {
		name += "-" + strings.Split(group, ".")[0]
	}
	return name + "-" + version + ".json"
}
