/** Texts that the view shows for events of a build. Pure. */
import { formatDuration, shellWord } from '@windlass/plan'
import { markOf } from '../format/style.ts'
import { textField } from './wording.ts'

type EventData = Readonly<Record<string, unknown>>

/** Describes why a step waits. Undefined for an approval of a local run, which prompts for it. */
export function describeStepWait(step: string, data: EventData, buildId: string | undefined): string | undefined {
  const phase = textField(data, 'phase')
  if (phase !== undefined) {
    const how = buildId === undefined ? '' : `: windlass debug ${buildId} ${shellWord(step)}`
    return `‖ ${step} is held by the debugger (${phase})${how}`
  }
  return buildId === undefined ? undefined : `‖ ${step} waits for an approval: windlass approve ${buildId} ${shellWord(step)}`
}

export interface StepResult {
  readonly status: string
  /** Empty for a success. */
  readonly text: string
  readonly durationMs: number | undefined
}

/** Returns the line about the end of a step. */
export function describeResult(step: string, { status, text, durationMs }: StepResult): string {
  const time = durationMs === undefined ? '' : formatDuration(Math.max(0, durationMs))
  return [`${markOf(status)} ${step}`, time, status === 'success' ? '' : text].filter((part) => part !== '').join('  ')
}

const STATUS_OF_DECISION: Readonly<Record<string, string>> = { approved: 'success', denied: 'error' }

/** Returns the line about the decision of an approval, and the status in whose color it is shown. */
export function describeDecision(step: string, data: EventData): { readonly status: string; readonly line: string } {
  const decision = textField(data, 'decision') ?? ''
  const by = data['by']
  const who = typeof by === 'object' && by !== null && 'name' in by && typeof by.name === 'string' ? ` by ${by.name}` : ''
  const status = STATUS_OF_DECISION[decision] ?? 'terminated'
  return { status, line: `${markOf(status)} ${step}  ${decision}${who}` }
}
