#include "engine/scaffold/space_schema.hpp"

#include <nlohmann/json.hpp>

#include "engine/kernel/template/template_form.hpp"
#include "engine/problem/attention/shape_form.hpp"
#include "engine/problem/custom/spec_form.hpp"
#include "engine/space_file/space_form.hpp"
#include "engine/yaml/form_schema.hpp"

namespace fa_tune::scaffold {
namespace {

using Json = nlohmann::ordered_json;

// A manifest within a space: what it does not say the space does.
Json own_manifest() {
  Json schema = schema_of(kernel::form::kManifest);
  schema["properties"]["include"] = {
      {"type", "array"},
      {"items", schema_of(forms::kText)},
      {"description", "folders with files that the source includes"}};
  Json one = {{"required", {"kernel", "launch"}}};
  Json several = {{"required", {"steps"}}};
  for (const char* key : {"kernel", "launch", "arguments", "maps"})
    several["not"]["anyOf"].push_back({{"required", {key}}});
  schema["oneOf"] = {std::move(one), std::move(several)};
  return schema;
}

}  // namespace

std::string space_schema() {
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                 {"title", "A search space of fa-tune"}};
  schema.update(schema_of(space::form::kFile));
  schema["definitions"] = {{"manifest", own_manifest()},
                           {"custom", schema_of(problem::form::kProblem)},
                           {"attention", schema_of(problem::attention_form::kProblem)}};
  const Json manifest = {{"$ref", "#/definitions/manifest"}};
  schema["definitions"]["custom"]["properties"]["reference"] = manifest;
  Json& properties = schema["properties"];
  // They become parts of file names.
  for (const char* key : {"space", "target"}) {
    properties[key]["pattern"] = "^[A-Za-z0-9_][A-Za-z0-9_.-]*$";
    properties[key]["minimum"] = 0;
  }
  Json& problem = properties["problem"];
  problem = {{"description", problem.value("description", "")},
             {"type", "object"},
             {"required", {"kind"}},
             {"properties", {{"kind", {{"enum", {"custom", "attention"}}}}}},
             {"if", {{"properties", {{"kind", {{"const", "custom"}}}}}}},
             {"then", {{"$ref", "#/definitions/custom"}}},
             {"else", {{"$ref", "#/definitions/attention"}}}};
  Json& templates = properties["templates"];
  templates["minProperties"] = 1;
  templates["propertyNames"] = schema_of(forms::kName);
  templates["additionalProperties"] = {{"anyOf", {schema_of(forms::kText), manifest}}};
  return schema.dump(2) + "\n";
}

}  // namespace fa_tune::scaffold
