/** What is wrong with a document: codes, positions, advice. All problems of a document are told at once. */

/** Every code with what it means; the reference page is made from this table. A code is never reused for something else. */
export const DIAGNOSTIC_CODES = {
  'aws-access': 'A field for access to AWS has a wrong form, or stands without the one that it needs.',
  'cluster-implied': 'Several clusters exist and none is named: the default one is used.',
  'cluster-missing': 'A deploy step, and no cluster at all.',
  'cluster-unknown': 'There is no cluster of this name.',
  'cluster-variable': 'A cluster is named by a variable that is not defined.',
  conflict: 'Two fields exclude each other, or one is written twice under different names.',
  'dependency-circle': 'Steps wait for each other, so that none of them can start.',
  document: 'A document of another kind has wrong or missing fields.',
  'document-source': 'The document that a pipeline refers to cannot be had, or refers to another one.',
  'duplicate-key': 'A key stands twice in one mapping.',
  'duplicate-step': 'A step name is used more than once.',
  'empty-value': 'A value must not be empty.',
  expression: 'The expression of a condition has a syntax error, or uses a function or step that does not exist.',
  'folded-indentation': 'Lines after `- >-` are indented deeper than the first, so they are not folded.',
  'forbidden-key': 'A key that is not allowed anywhere.',
  'gcb-access': 'Google Cloud Build has no credentials.',
  'git-implied': 'Several git integrations exist and none is named: the default one is used.',
  'git-missing': 'A git-clone step, and no git integration at all.',
  'git-unknown': 'There is no git integration of this name.',
  'git-variable': 'A git integration is named by a variable that is not defined.',
  'helm-version': 'A version of Helm that is out of support.',
  'invalid-value': 'A value is of the right type, but not one of those allowed.',
  'later-step': 'A step asks about one that runs after it.',
  'mixed-indentation': 'Tabs and spaces are mixed.',
  'never-true': 'A condition compares with a word that never occurs.',
  'not-allowed': 'A field does not belong to this type of step, or not here.',
  'no-effect': 'A part of the language that is accepted and changes nothing.',
  pattern: 'A regular expression cannot be used.',
  'registry-implied': 'Several registry integrations exist and none is named: the default one is used.',
  'registry-missing': 'A push step, and no registry integration at all.',
  'registry-needed': 'A field has no effect without the registry integration that it is for.',
  'registry-none': 'An image is built that is pushed nowhere.',
  'registry-required': 'The account wants build steps to say where to push, or that they do not.',
  'registry-twice': 'Two registry integrations of one domain are used at once.',
  'registry-unknown': 'There is no registry integration of this name.',
  'registry-variable': 'A registry integration is named by a variable that is not defined.',
  required: 'A required field is missing.',
  'retry-range': 'A number of `retry` is outside its range and is moved to the nearest end.',
  'several-documents': 'A file holds more than one document.',
  'step-version': 'The version of a typed step is missing or is none.',
  'step-arguments': 'The arguments of a typed step do not fit the schema of its type.',
  'step-schema': 'The JSON Schema of a step type cannot be used.',
  'step-template': 'The template of a step type cannot be rendered, or decides by a value that is not known yet.',
  'step-type': 'A step type or a version of it does not exist, or cannot be used.',
  'step-name': 'A step name has a forbidden character or is too long.',
  'timeout-ignored': 'A timeout cannot be read and is ignored.',
  'too-deep': 'The document is nested too deep.',
  'too-large': 'The document is too large.',
  'type-refused': 'A step type of the language that is never run; the hint says what to use instead.',
  'type-variable': 'The type of a step depends on a variable that is not known yet.',
  'unknown-key': 'There is no field of this name.',
  'unknown-service': 'Root services of this name do not exist.',
  'unknown-stage': 'A step names a stage that `stages` does not list.',
  'unknown-step': 'A step of this name does not exist.',
  'unknown-version': 'Only version 1.0 of the language exists.',
  'uppercase-image': 'Image names are lower case.',
  'wrong-type': 'A value has the wrong type.',
  'yaml-alias': 'An alias is unknown, refers to itself, or there are too many.',
  'yaml-syntax': 'The text is not valid YAML.',
  'yaml-tag': 'Tags of one’s own are not allowed.',
} as const satisfies Record<string, string>

export type DiagnosticCode = keyof typeof DIAGNOSTIC_CODES

export interface Diagnostic {
  readonly file: string
  /** 1-based, like `column`; the end is behind the last character. */
  readonly line: number
  readonly column: number
  readonly endLine: number
  readonly endColumn: number
  readonly severity: 'error' | 'warning'
  readonly code: DiagnosticCode
  readonly message: string
  /** What to do about it; empty when the message says it all. */
  readonly hint: string
  /** Where in the document, such as `steps.build.image`. */
  readonly path: string
  readonly suggestion?: { readonly from: string; readonly to: string }
}

/** True when at least one of them is an error: such a document does not compile. */
export function hasErrors(problems: readonly Diagnostic[]): boolean {
  return problems.some(({ severity }) => severity === 'error')
}

/** By position, errors before warnings at the same place. */
export function sortProblems(problems: readonly Diagnostic[]): Diagnostic[] {
  return problems.toSorted((a, b) => a.line - b.line || a.column - b.column || a.severity.localeCompare(b.severity))
}
