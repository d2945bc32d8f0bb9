export { compile } from './compile/compile.ts'
export type { Compiled, CompileOptions } from './compile/compile.ts'
export { isRegistryHost, registryKind } from './context/account.ts'
export type { AccountContext, AccountRegistry } from './context/account.ts'
export { describeLanguage } from './reference/describe.ts'
export type { FieldDescription, LanguageDescription } from './reference/describe.ts'
export { DIAGNOSTIC_CODES, hasErrors } from './language/diagnostic.ts'
export type { Diagnostic, DiagnosticCode } from './language/diagnostic.ts'
export { formatLint, formatMessages, formatTables, formatValid } from './formats/formats.ts'
export type { FormatOptions, Lint } from './formats/formats.ts'
export { toCodefreshProblem } from './formats/codefresh-problem.ts'
export type { CodefreshProblem, CodefreshProblemOptions } from './formats/codefresh-problem.ts'
export { stepTypes } from './formats/step-types.ts'
export { jsonSchema } from './reference/json-schema.ts'
export type { JsonSchema } from './reference/share-parts.ts'
export { parseYaml } from './syntax/parse.ts'
export type { Parsed, Source } from './syntax/parse.ts'
export { documentKind, readPipelineDocument } from './compile/pipeline-document.ts'
export type {
  DocumentVariable,
  PipelineDocument,
  PipelineSettings,
  PipelineSource,
  ReadPipeline,
  RuntimeRequest,
} from './compile/pipeline-document.ts'
export { hasAliasOrSpelling } from './syntax/read-tokens.ts'
export { toValue } from './syntax/tree.ts'
export { BUILT_IN_CATALOG, BUILT_IN_STEP_TYPES } from './typed/built-in.ts'
export { catalogOf, joinCatalogs, partial, toCatalogEntry } from './typed/catalog.ts'
export type { CatalogEntry, StepCatalog } from './typed/catalog.ts'
export { checkStepType } from './typed/check-step-type.ts'
export { isMainCloneSkipped, possibleMainClone } from './draft/main-clone.ts'
export type { MainCloneSettings } from './draft/main-clone.ts'
export { isLanguageType } from './draft/read-type.ts'
export { isStepType, readStepType } from './typed/manifest.ts'
export type { ReadStepType, StepTypeManifest } from './typed/manifest.ts'
export { parseStepTypeName } from './typed/step-type-name.ts'
export { compareForLatest, isVersion, latestVersion } from './typed/version.ts'
