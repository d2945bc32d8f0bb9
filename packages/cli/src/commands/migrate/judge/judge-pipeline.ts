import {
  compile,
  possibleMainClone,
  readPipelineDocument,
  type AccountContext,
  type CompileOptions,
  type Diagnostic,
  type PipelineSettings,
} from '@windlass/pipeline'
import { PipelineInput, type ContextInput } from '@windlass/protocol'
import { toManifest } from './inline-document.ts'
import type { References } from './references.ts'
import { blankMasked } from './masked-values.ts'
import { lineIn, sentence, type Recognized } from './recognize.ts'
import { withoutUnknownFields } from './settings-fields.ts'
import { orderRemarks, settingRemarks } from './setting-remarks.ts'
import type { Remark, SourceDocument, Verdict } from './verdict.ts'

/** What to do about a problem whose hint is for authors of documents. */
const ACTIONS: Readonly<Record<string, string>> = {
  'step-type': 'Load it with `windlass import step-types`.',
  'git-missing': 'Create a context of type git with `windlass apply`.',
  'git-unknown': 'Create a context of type git with this name, or change the name.',
  'registry-missing': 'Create a context of type registry with `windlass apply`.',
  'registry-unknown': 'Create a context of type registry with this name, or change the name.',
  'registry-none': 'Create a context of type registry that is the default one, or set "registry".',
  'cluster-missing': 'Create a context of type kubernetes with `windlass apply`.',
  'cluster-unknown': 'Create a context of type kubernetes with this name, or change the name.',
}

/** Problems that the account causes and not the document. The pipeline moves, because integrations can follow. */
const OF_ACCOUNT = /^(?:git|registry|cluster)-/

/** Judges a pipeline. One that does not compile is left, as `apply` would leave it. */
export function judgePipeline(one: Recognized, references: References): Verdict {
  const { name, document, isInline } = one
  const { from } = document
  const leave = (reasons: readonly Remark[]): Verdict => ({ kind: 'pipeline', name, from, reasons })
  const cleaned = isInline ? { text: document.text, remarks: [] } : withoutUnknownFields(document.text)
  const manifest = isInline ? toManifest(document.text, name) : cleaned.text
  const settings = readPipelineDocument({ text: manifest, file: from }).document?.settings
  const { errors, warnings } = problemsOf(document, cleaned.text, { references, settings })
  if (errors.length > 0) return leave(errors)
  const masked = blankMasked(manifest)
  const body = PipelineInput.safeParse({ name, document: masked.text })
  if (!body.success) return leave(body.error.issues.map(({ message }) => ({ path: '', reason: sentence(message), action: '' })))
  const remarks = [
    ...(isInline ? [namedRemark(name)] : []),
    ...cleaned.remarks,
    ...masked.paths.map((path) => secretRemark(path, 'The value is a secret, which is not moved.')),
    ...masked.emptyPaths.map((path) => secretRemark(path, 'The value is a secret, which is empty.')),
    ...(settings === undefined ? [] : settingRemarks({ settings, spec: one.spec, references })),
    ...(document.line === undefined ? orderRemarks(one.spec) : []),
    ...warnings,
  ]
  return { from, remarks, resource: { kind: 'pipeline', name, text: masked.text, body: body.data, masked: masked.variables } }
}

interface CheckedAgainst {
  readonly references: References
  readonly settings: PipelineSettings | undefined
}

/** Compiles the text of a document, which may be without some of its fields. Lines are those of the whole document. */
function problemsOf(
  document: SourceDocument,
  text: string,
  { references, settings }: CheckedAgainst,
): { errors: Remark[]; warnings: Remark[] } {
  const options: CompileOptions = {
    stepTypes: references.stepTypes,
    account: accountOf(references),
    mainClone: settings && possibleMainClone(settings.mainClone, references.automaticClone === true),
    checksSource: true,
  }
  const compileText = (one: string): readonly Diagnostic[] => compile({ text: one, file: document.from }, options).problems
  const problems = compileText(text)
  // Most documents have no problems, and those of an account have no lines.
  const hasMoved = text !== document.text && document.line !== undefined && problems.length > 0
  const placed = hasMoved ? compileText(document.text) : problems
  const toRemark = ({ code, path, message, hint }: Diagnostic): Remark => {
    const line = placed.find((other) => other.code === code && other.path === path && other.message === message)?.line
    return { path, line: line && lineIn(document, line), reason: sentence(message), action: ACTIONS[code] ?? hint }
  }
  const isError = ({ severity, code }: Diagnostic): boolean => severity === 'error' && !OF_ACCOUNT.test(code)
  return {
    errors: problems.filter(isError).map(toRemark),
    warnings: problems.filter((problem) => !isError(problem)).map(toRemark),
  }
}

function namedRemark(name: string): Remark {
  return { path: '', reason: `The document has no name; "${name}" is taken from its file.`, action: '' }
}

function secretRemark(path: string, reason: string): Remark {
  return {
    path,
    reason,
    action: path.startsWith('spec.variables.')
      ? 'Set the value in the document with `windlass apply`.'
      : 'The server does not store secrets of triggers. Pass the value to a run with `-S NAME=VALUE`.',
  }
}

function accountOf({ contexts }: References): AccountContext {
  const of = (type: ContextInput['type']): References['contexts'] => contexts.filter((one) => one.type === type)
  return {
    git: of('git'),
    registries: of('registry').map(({ name, isDefault }) => ({ name, isDefault, domain: '' })),
    clusters: of('kubernetes'),
    autoPush: true,
    disablePush: false,
    quietDefaults: true,
  }
}
