/** What the form of the settings of a pipeline holds, and the body that it makes. */
import { MASK, type Pipeline, type PipelineInput, type TerminationPolicy } from '@windlass/protocol'
import { toInput } from '../pipelines/pipeline-input.ts'

/** Where the document writes a field: its name below `spec`. */
export const DOCUMENT_FIELDS = {
  runtime: 'runtimeEnvironment',
  contexts: 'contexts',
  variables: 'variables',
  concurrency: 'concurrency',
  branchConcurrency: 'branchConcurrency',
  triggerConcurrency: 'triggerConcurrency',
  priority: 'priority',
} as const

export type DocumentField = keyof typeof DOCUMENT_FIELDS

export interface FormVariable {
  readonly key: string
  readonly value: string
  readonly encrypted: boolean
  /** True for a stored secret that keeps its value. */
  readonly isKept: boolean
}

export const OPTIONS = [
  ['noCache', 'Build images without cache'],
  ['noCfCache', 'Do not use images of earlier builds as cache'],
  ['resetVolume', 'Start each build with an empty shared volume'],
  ['enableNotifications', 'Send notifications for builds that are started by hand'],
  ['commitStatus', 'Report builds of Git triggers at their commits'],
] as const

type Option = (typeof OPTIONS)[number][0]

/** Values as they are written. A limit that is empty is not set. */
export interface SettingsForm {
  readonly description: string
  readonly runtime: string
  /** One on each line. */
  readonly contexts: string
  readonly variables: readonly FormVariable[]
  readonly concurrency: string
  readonly branchConcurrency: string
  readonly triggerConcurrency: string
  readonly priority: string
  readonly buildMinutes: string
  readonly inactiveMinutes: string
  readonly cpu: string
  readonly memory: string
  readonly disk: string
  readonly options: Readonly<Record<Option, boolean>>
  readonly restart: 'account' | 'yes' | 'no'
  /** True if a new build terminates earlier builds of its branch. */
  readonly replaces: boolean
  /** Regular expression that the branch must match for it. */
  readonly replacesBranch: string
  readonly isPublic: boolean
  /** One on each line. */
  readonly startedBy: string
}

/** Fields of the form that are texts. */
export type TextName = Exclude<
  { [K in keyof SettingsForm]: SettingsForm[K] extends string ? K : never }[keyof SettingsForm],
  'restart'
>

const MINUTE_MS = 60_000

const shown = (value: number | undefined): string => (value === undefined ? '' : String(value))
const minutes = (ms: number | undefined): string => (ms === undefined ? '' : String(ms / MINUTE_MS))

/** Returns the form of a stored pipeline. */
export function readForm(pipeline: Pipeline): SettingsForm {
  const { settings, variables } = pipeline
  const policy = settings.terminationPolicy.find(({ type }) => type === 'branch')
  return {
    description: settings.description ?? '',
    runtime: pipeline.runtime ?? '',
    contexts: pipeline.contexts.join('\n'),
    variables: variables.map((one) => ({ ...one, value: one.encrypted ? '' : one.value, isKept: one.encrypted })),
    concurrency: shown(pipeline.concurrency),
    branchConcurrency: shown(pipeline.branchConcurrency),
    triggerConcurrency: shown(pipeline.triggerConcurrency),
    priority: String(pipeline.priority),
    buildMinutes: minutes(settings.buildMs),
    inactiveMinutes: minutes(settings.inactiveMs),
    cpu: settings.machine.cpu ?? '',
    memory: settings.machine.memory ?? '',
    disk: settings.machine.disk ?? '',
    options: Object.fromEntries(OPTIONS.map(([name]) => [name, settings.options[name]])) as Record<Option, boolean>,
    restart:
      settings.permitRestartFromFailedSteps === undefined ? 'account' : settings.permitRestartFromFailedSteps ? 'yes' : 'no',
    replaces: policy !== undefined,
    replacesBranch: policy?.type === 'branch' ? (policy.branchName ?? '') : '',
    isPublic: settings.isPublic,
    startedBy: settings.startedBy.join('\n'),
  }
}

const NUMBERS: readonly (readonly [keyof SettingsForm, string, boolean])[] = [
  ['concurrency', 'Builds at a time', false],
  ['branchConcurrency', 'Builds of a branch at a time', false],
  ['triggerConcurrency', 'Builds of a trigger at a time', false],
  ['priority', 'Priority', true],
  ['buildMinutes', 'Longest build', false],
  ['inactiveMinutes', 'Longest silence', false],
]

/** Returns what is wrong with a form, or undefined. */
export function findWrong(form: SettingsForm): string | undefined {
  const number = NUMBERS.find(([name, , isSigned]) => {
    const value = form[name]
    const text = typeof value === 'string' ? value.trim() : ''
    return text !== '' && !(isSigned ? /^-?\d{1,7}$/ : /^\d{1,7}$/).test(text)
  })
  if (number !== undefined) return `${number[1]} must be a whole number.`
  const names = form.variables.map(({ key }) => key)
  if (names.includes('')) return 'A variable has no name.'
  const twice = names.find((name, index) => names.indexOf(name) < index)
  return twice === undefined ? undefined : `The variable ${twice} is there twice.`
}

const numberOf = (text: string): number | undefined => (text.trim() === '' ? undefined : Number(text))
const msOf = (text: string): number | undefined => (text.trim() === '' ? undefined : Number(text) * MINUTE_MS)
const textOf = (text: string): string | undefined => (text.trim() === '' ? undefined : text.trim())
const linesOf = (text: string): string[] => text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))

type BranchPolicy = Extract<TerminationPolicy, { readonly type: 'branch' }>
const NEW_POLICY: BranchPolicy = { type: 'branch', event: 'onCreate', ignoreBranch: false, ignoreTrigger: false }

function policiesOf(
  { settings }: Pipeline,
  { replaces, replacesBranch }: SettingsForm,
): Pipeline['settings']['terminationPolicy'] {
  const others = settings.terminationPolicy.filter(({ type }) => type !== 'branch')
  if (!replaces) return others
  const own = settings.terminationPolicy.find((policy): policy is BranchPolicy => policy.type === 'branch')
  const { branchName: _before, ...rest } = own ?? NEW_POLICY
  const branchName = textOf(replacesBranch)
  return [{ ...rest, ...(branchName !== undefined && { branchName }) }, ...others]
}

/** Returns the body that stores the values. What the form does not show stays as it is. */
export function writeForm(pipeline: Pipeline, form: SettingsForm, written: readonly string[]): PipelineInput {
  const { settings } = pipeline
  const { permitRestartFromFailedSteps: _restart, ...kept } = settings
  const machine = { cpu: textOf(form.cpu), memory: textOf(form.memory), disk: textOf(form.disk) }
  const all = {
    ...toInput(pipeline),
    runtime: textOf(form.runtime),
    contexts: linesOf(form.contexts),
    variables: form.variables.map(({ key, value, encrypted, isKept }) => ({ key, encrypted, value: isKept ? MASK : value })),
    concurrency: numberOf(form.concurrency),
    branchConcurrency: numberOf(form.branchConcurrency),
    triggerConcurrency: numberOf(form.triggerConcurrency),
    priority: numberOf(form.priority) ?? 0,
    settings: {
      ...kept,
      description: textOf(form.description),
      options: { ...settings.options, ...form.options },
      machine,
      terminationPolicy: policiesOf(pipeline, form),
      ...(form.restart !== 'account' && { permitRestartFromFailedSteps: form.restart === 'yes' }),
      buildMs: msOf(form.buildMinutes),
      inactiveMs: msOf(form.inactiveMinutes),
      isPublic: form.isPublic,
      startedBy: linesOf(form.startedBy),
    },
  }
  // The document wins over these; its values must not come back when it stops to write them.
  const own = toInput({ ...pipeline, ...all } as Pipeline, written)
  return own
}
