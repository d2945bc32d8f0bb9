/** Diagnostics of documents: codes, positions and hints. All problems of a document are reported at once. */

/** Every code with its meaning; the reference page is generated from this table. A code is never reused for another problem. */
export const DIAGNOSTIC_CODES = {
  'aws-access': 'A field for AWS access is invalid, or the field that it needs is missing.',
  'cluster-implied': 'No cluster is named and several exist; the default one is used.',
  'cluster-missing': 'A deploy step needs a cluster, but the account has none.',
  'cluster-unknown': 'The cluster does not exist.',
  'cluster-variable': 'A cluster is named by a variable that is not defined.',
  'compose-service': 'A service of a composition names a service that does not exist.',
  conflict: 'Two fields are mutually exclusive, or one is written twice under different names.',
  'dependency-circle': 'Steps wait for each other in a cycle, so none of them can start.',
  document: 'A document of another kind has invalid or missing fields.',
  'document-source': 'The document that a pipeline refers to cannot be loaded, or refers to another one.',
  'duplicate-key': 'A mapping contains a key twice.',
  'duplicate-step': 'A step name is used more than once.',
  'empty-value': 'A value must not be empty.',
  expression: 'The expression of a condition has a syntax error, or uses a function or step that does not exist.',
  'folded-indentation': 'Lines after `- >-` are indented deeper than the first, so they are not folded.',
  'forbidden-key': 'The key is not allowed in any mapping.',
  'gcb-access': 'Google Cloud Build has no credentials.',
  'git-implied': 'No git integration is named and several exist; the default one is used.',
  'git-missing': 'A git-clone step needs a git integration, but the account has none.',
  'git-unknown': 'The git integration does not exist.',
  'git-variable': 'A git integration is named by a variable that is not defined.',
  'helm-version': 'The Helm version is not supported any more.',
  'invalid-value': 'A value has the right type but is not allowed.',
  'later-step': 'A condition refers to a step that has not ended at that point.',
  'mixed-indentation': 'The indentation mixes tabs and spaces.',
  'never-true': 'A condition compares a result with a value that it never has.',
  'not-allowed': 'A field is not allowed on this step type or in this place.',
  'no-effect': 'A field or value is accepted but has no effect.',
  'no-source': 'A step needs the source of a repository that no step clones.',
  pattern: 'A regular expression is invalid or not supported.',
  'registry-implied': 'No registry integration is named and several exist; the default one is used.',
  'registry-missing': 'A push step needs a registry integration, but the account has none.',
  'registry-needed': 'A field needs a registry integration that is not named.',
  'registry-none': 'The image of a build step is not pushed.',
  'registry-required': 'The account requires build steps to name a registry or to disable the push.',
  'registry-twice': 'A step uses two registry integrations of one domain.',
  'registry-unknown': 'The registry integration does not exist.',
  'registry-variable': 'A registry integration is named by a variable that is not defined.',
  required: 'A required field is missing.',
  'retry-range': 'A number of `retry` is outside its range; the nearest allowed value is used.',
  'several-documents': 'A file contains more than one document.',
  'step-version': 'The version of a typed step is missing or invalid.',
  'step-arguments': 'The arguments of a typed step do not fit the schema of its type.',
  'step-schema': 'The JSON Schema of a step type is invalid or not supported.',
  'step-template': 'The template of a step type cannot be rendered, or depends on a value that is not known yet.',
  'step-type': 'A step type or its version does not exist or cannot be used.',
  'step-name': 'A step name is too long or contains a forbidden character.',
  'timeout-ignored': 'A timeout is invalid and ignored.',
  'too-deep': 'The document is nested too deeply.',
  'too-large': 'The document is too large.',
  'type-refused': 'The step type is not supported; the hint says what to use instead.',
  'type-variable': 'The type of a step depends on a variable that is not known yet.',
  'unknown-key': 'The field does not exist.',
  'unknown-service': 'The root services do not exist.',
  'unknown-stage': 'A step names a stage that `stages` does not list.',
  'unknown-step': 'The step does not exist.',
  'unknown-version': 'Only version 1.0 of the language exists.',
  'uppercase-image': 'An image name contains upper-case letters.',
  'wrong-type': 'A value has the wrong type.',
  'yaml-alias': 'An alias is unknown or refers to itself, or there are too many aliases.',
  'yaml-syntax': 'The text is not valid YAML.',
  'yaml-tag': 'Custom YAML tags are not allowed.',
} as const satisfies Record<string, string>

export type DiagnosticCode = keyof typeof DIAGNOSTIC_CODES

export interface Diagnostic {
  readonly file: string
  /** 1-based, like `column`; the end is after the last character. */
  readonly line: number
  readonly column: number
  readonly endLine: number
  readonly endColumn: number
  readonly severity: 'error' | 'warning'
  readonly code: DiagnosticCode
  readonly message: string
  /** What to do; empty if the message says it. */
  readonly hint: string
  /** Path in the document, such as `steps.build.image`. */
  readonly path: string
  readonly suggestion?: { readonly from: string; readonly to: string }
}

/** Returns true if at least one problem is an error, so that the document does not compile. */
export function hasErrors(problems: readonly Diagnostic[]): boolean {
  return problems.some(({ severity }) => severity === 'error')
}

/** Sorts by position; at the same position errors come before warnings. */
export function sortProblems(problems: readonly Diagnostic[]): Diagnostic[] {
  return problems.toSorted((a, b) => a.line - b.line || a.column - b.column || a.severity.localeCompare(b.severity))
}
