export { compile } from './compile.ts'
export type { Compiled, CompileOptions } from './compile.ts'
export { isRegistryHost, registryKind } from './context/account.ts'
export type { AccountContext, AccountRegistry } from './context/account.ts'
export { describeLanguage } from './describe.ts'
export type { FieldDescription, LanguageDescription } from './describe.ts'
export { DIAGNOSTIC_CODES, hasErrors } from './diagnostic.ts'
export type { Diagnostic, DiagnosticCode } from './diagnostic.ts'
export { formatLint, formatMessages, formatTables, formatValid } from './formats/formats.ts'
export type { FormatOptions, Lint } from './formats/formats.ts'
export { toPublishedProblem } from './formats/published-problem.ts'
export type { PublishedProblem, PublishOptions } from './formats/published-problem.ts'
export { stepTypes } from './formats/step-types.ts'
export { jsonSchema } from './json-schema.ts'
export type { JsonSchema } from './json-schema.ts'
export { parseYaml } from './parse.ts'
export type { Parsed, Source } from './parse.ts'
export { documentKind, readPipelineDocument } from './pipeline-document.ts'
export type {
  DocumentVariable,
  PipelineDocument,
  PipelineSettings,
  PipelineSource,
  ReadPipeline,
  RuntimeRequest,
} from './pipeline-document.ts'
export { EXACT_VARIABLE_PATTERN, flagFields, stepSchemas, VARIABLE_PATTERN } from './step-schemas.ts'
export type { FlagFields } from './step-schemas.ts'
export { toValue } from './tree.ts'
export { BUILT_IN_CATALOG, BUILT_IN_STEP_TYPES } from './typed/built-in.ts'
export { catalogOf, joinCatalogs, toCatalogEntry } from './typed/catalog.ts'
export type { CatalogEntry, StepCatalog } from './typed/catalog.ts'
export { checkStepType } from './typed/check-step-type.ts'
export { isStepType, readStepType } from './typed/manifest.ts'
export type { ReadStepType, StepType } from './typed/manifest.ts'
export { parseStepTypeName } from './typed/step-type-name.ts'
export { compareForLatest, isVersion, latestVersion } from './typed/version.ts'
