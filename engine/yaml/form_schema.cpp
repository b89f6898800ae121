#include "engine/yaml/form_schema.hpp"

#include <nlohmann/json.hpp>

namespace fa_tune {
namespace {

using Json = nlohmann::ordered_json;
using Kind = YamlForm::Kind;

constexpr const char* kIdentifier = "^[A-Za-z_][A-Za-z0-9_]*$";
constexpr const char* kQualifiedName = "^[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)*$";

// `true` is a name too, where one is asked for.
Json name(const char* pattern) { return {{"type", {"string", "boolean"}}, {"pattern", pattern}}; }

void put_bounds(Json& schema, const YamlForm& form, const char* least, const char* most) {
  if (form.least != INT64_MIN) schema[least] = form.least;
  if (form.most != INT64_MAX) schema[most] = form.most;
}

Json map_schema(const YamlForm& form) {
  Json schema = {{"type", "object"}};
  Json properties = Json::object(), required = Json::array();
  for (const YamlKey& key : form.keys) {
    Json of_key = schema_of(*key.form);
    if (!key.says.empty()) of_key["description"] = key.says;
    properties[std::string(key.name)] = std::move(of_key);
    if (key.required) required.push_back(key.name);
  }
  if (!properties.empty()) schema["properties"] = std::move(properties);
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = form.item == nullptr ? Json(false) : schema_of(*form.item);
  if (form.identifiers) schema["propertyNames"] = {{"pattern", kIdentifier}};
  for (const std::string_view key : form.one_of) schema["oneOf"].push_back({{"required", {key}}});
  put_bounds(schema, form, "minProperties", "maxProperties");
  return schema;
}

Json plain_schema(const YamlForm& form) {
  Json schema = Json::object();
  switch (form.kind) {
    case Kind::any:
      break;
    case Kind::text:
      schema["type"] = {"string", "number", "boolean"};
      break;
    case Kind::whole:
      schema["type"] = {"string", "integer", "boolean"};
      break;
    case Kind::name:
      schema = name(kIdentifier);
      break;
    case Kind::value:
      schema["anyOf"] = {{{"type", "number"}}, name(kQualifiedName)};
      break;
    case Kind::integer:
    case Kind::number:
      schema["type"] = form.kind == Kind::integer ? "integer" : "number";
      put_bounds(schema, form, "minimum", "maximum");
      break;
    case Kind::boolean:
      schema["type"] = "boolean";
      break;
    case Kind::choice:
      for (const std::string_view word : form.words) schema["enum"].push_back(word);
      break;
    case Kind::list:
      schema["type"] = "array";
      schema["items"] = schema_of(*form.item);
      put_bounds(schema, form, "minItems", "maxItems");
      break;
    case Kind::map:
      return map_schema(form);
    case Kind::either:
      for (const YamlForm* each : form.forms) schema["anyOf"].push_back(schema_of(*each));
      break;
  }
  return schema;
}

}  // namespace

nlohmann::ordered_json schema_of(const YamlForm& form) {
  Json schema = plain_schema(form);
  if (!form.may_be_empty) return schema;
  return {{"anyOf", {{{"type", "null"}}, std::move(schema)}}};
}

}  // namespace fa_tune
