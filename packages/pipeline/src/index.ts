export { compile } from './compile.ts'
export type { Compiled, CompileOptions } from './compile.ts'
export { describeLanguage } from './describe.ts'
export type { FieldDescription, LanguageDescription } from './describe.ts'
export { DIAGNOSTIC_CODES, hasErrors } from './diagnostic.ts'
export type { Diagnostic, DiagnosticCode } from './diagnostic.ts'
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
export { toValue } from './tree.ts'
