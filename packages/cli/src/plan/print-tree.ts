/** The text form of a plan: the steps as a tree, then images, services and variables. */
import {
  toTree,
  type Preview,
  type PreviewStep,
  type PreviewUnresolved,
  type PreviewVariable,
  type StepForecast,
} from '@windlass/plan'
import type { Style } from '../format/style.ts'
import type { Printer } from '../printer.ts'

export interface TreeHead {
  readonly title: string
  readonly branch: string | undefined
  readonly out: Printer
}

const MARKS: Readonly<Record<StepForecast, string>> = { runs: '✔', skipped: '–', depends: '?', fails: '✖' }

/** Maximum widths of names, subjects and values; longer texts are cut. */
const NAME_COLUMNS = 44
const SUBJECT_COLUMNS = 48
const VALUE_COLUMNS = 60

export function printTree(preview: Preview, { title, branch, out }: TreeHead): void {
  const { style } = out.stdout
  const counts = Map.groupBy(preview.steps, ({ forecast }) => forecast)
  const count = (forecast: StepForecast, word: string): string[] =>
    counts.has(forecast) ? [`${counts.get(forecast)?.length} ${word}`] : []
  const facts = [
    `${preview.mode === 'serial' ? 'steps in sequence' : 'steps in parallel'}`,
    ...count('runs', 'run'),
    ...count('depends', 'depend'),
    ...count('skipped', 'skipped'),
    ...count('fails', 'fail'),
  ]
  out.line(`${style.bold(title)}${branch === undefined ? '' : style.dim(` @ ${branch}`)}  ${style.dim(facts.join(' · '))}`)
  out.line()
  for (const line of stepLines(preview, style)) out.line(line)
  section('Images', imageLines(preview, style), { out, style })
  section(
    'Services of the build',
    preview.services.map((name) => `  ${name}`),
    { out, style },
  )
  section('Variables', variableLines(preview.variables, style), { out, style })
  section('Variables without a value', unresolvedLines(preview.unresolved ?? [], style), { out, style })
}

function section(name: string, lines: readonly string[], { out, style }: { out: Printer; style: Style }): void {
  if (lines.length === 0) return
  out.line()
  out.line(style.bold(name))
  for (const line of lines) out.line(line)
}

interface Row {
  readonly step: PreviewStep
  readonly lead: string
  readonly label: string
  readonly kind: string
}

function stepLines({ steps, stages }: Preview, style: Style): string[] {
  const rows = toRows(steps)
  const nameWidth = widest(rows.map(({ lead, label }) => lead + label))
  const kindWidth = widest(rows.map(({ kind }) => kind))
  const subjectWidth = Math.min(widest(steps.map(({ subject }) => subject)), SUBJECT_COLUMNS)
  const stageWidth = widest(steps.map(({ stage }) => stage ?? ''))
  return rows.map(({ step, lead, label, kind }) => {
    const { forecast } = step
    const paint = painterOf(style, forecast)
    const name = `${style.dim(lead)}${paint(label)}${' '.repeat(nameWidth - lead.length - label.length)}`
    const subject = clip(step.subject, SUBJECT_COLUMNS).padEnd(subjectWidth)
    const stage = stages.length === 0 ? '' : `${style.cyan((step.stage ?? '').padEnd(stageWidth))}  `
    const title = step.title === step.name || step.hook !== undefined ? [] : [step.title]
    const rest = [...title, ...step.notes, ...step.services.map((service) => `with ${service}`)].join(', ')
    const why = step.because === undefined ? '' : paintWhy(style, forecast, step.because)
    const details = [rest === '' ? '' : style.dim(rest), why].filter((part) => part !== '').join('  ')
    const line = `${paint(MARKS[forecast])} ${name}  ${style.dim(kind.padEnd(kindWidth))}  ${forecast === 'skipped' ? style.dim(subject) : subject}  ${stage}${details}`
    return line.trimEnd()
  })
}

/** Returns the steps with their tree lines. Hooks are listed with their step. */
function toRows(steps: readonly PreviewStep[]): Row[] {
  const branches = toTree(steps.map((step) => ({ ...step, parent: step.parent ?? step.hook?.of ?? null })))
  const rows: Row[] = []
  const open: boolean[] = []
  for (const [index, { step, depth, label }] of branches.entries()) {
    const next = branches.slice(index + 1).find((other) => other.depth <= depth)
    open[depth] = next?.depth === depth
    const lines = open.slice(1, depth).map((isOpen) => (isOpen ? '│  ' : '   '))
    const lead = depth === 0 ? '' : `${lines.join('')}${open[depth] === true ? '├─ ' : '└─ '}`
    const { parent: _parent, ...rest } = step
    rows.push({ step: rest, lead, label: clip(label, NAME_COLUMNS - lead.length), kind: kindOf(step) })
  }
  return rows
}

function kindOf({ kind, type, hook, mode }: Pick<PreviewStep, 'kind' | 'type' | 'hook' | 'mode'>): string {
  if (hook !== undefined) return 'hook'
  if (type !== undefined) return 'step type'
  return mode ?? kind
}

function imageLines({ images }: Preview, style: Style): string[] {
  const width = Math.min(widest(images.map(({ image }) => image)), VALUE_COLUMNS)
  return images.map(({ image, madeBy, steps }) => {
    const maker = madeBy === undefined ? '' : `made by ${madeBy}, `
    return `  ${clip(image, VALUE_COLUMNS).padEnd(width)}  ${style.dim(`${maker}used by ${shorten(steps)}`)}`
  })
}

function shorten(names: readonly string[]): string {
  return names.length > 4 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ')
}

/** Returns a line for each variable that has no value: who uses it, and where it would come from. */
function unresolvedLines(unresolved: readonly PreviewUnresolved[], style: Style): string[] {
  const width = Math.min(widest(unresolved.map(({ name }) => name)), NAME_COLUMNS)
  return unresolved.map(({ name, from, steps, variables }) => {
    const origin = from === 'trigger' ? 'a Git trigger' : 'a variable of the pipeline or cf_export of an earlier step'
    const users = shorten([...steps, ...variables.map((one) => `the variable ${one}`)])
    const shown = clip(name, NAME_COLUMNS)
    return `  ${style.yellow(shown.padEnd(width))}  comes from ${origin}, or -v ${shown}=value  ${style.dim(`used by ${users}`)}`
  })
}

function variableLines(variables: readonly PreviewVariable[], style: Style): string[] {
  const nameWidth = widest(variables.map(({ name }) => name))
  const values = variables.map(({ value, isSecret }) =>
    isSecret ? '•••••' : clip(JSON.stringify(value ?? '').slice(1, -1), VALUE_COLUMNS),
  )
  const valueWidth = widest(values)
  return variables.map(({ name, level, source, isSecret, overriddenBy }, index) => {
    const value = (values[index] ?? '').padEnd(valueWidth)
    const from = `${level}${source === undefined ? '' : ` ${source}`}`
    const line = `  ${name.padEnd(nameWidth)}  ${isSecret ? style.yellow(value) : value}  `
    if (overriddenBy === undefined) return `${line}${style.cyan(from)}`
    return style.dim(`  ${name.padEnd(nameWidth)}  ${value}  ${from}, overridden by ${overriddenBy}`)
  })
}

function painterOf(style: Style, forecast: StepForecast): (text: string) => string {
  return { runs: style.green, skipped: style.dim, depends: style.yellow, fails: style.red }[forecast]
}

function paintWhy(style: Style, forecast: StepForecast, because: string): string {
  const text = clip(because.replace(/\s+/g, ' '), 100)
  return forecast === 'runs' || forecast === 'skipped' ? style.dim(text) : painterOf(style, forecast)(text)
}

function clip(text: string, columns: number): string {
  const most = Math.max(columns, 8)
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`
}

function widest(texts: readonly string[]): number {
  return texts.reduce((most, { length }) => Math.max(most, length), 0)
}
