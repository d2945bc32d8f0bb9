/** The end of a log that is read at once: a log may be longer than what a frame should hold. */
import type { LogAddition, LogLine, LogStep } from './log-lines.ts'

/** Maximum characters of the lines in a window. */
const WINDOW_CHARS = 4_194_304

/** Key of the line that stands for lines that are left out. It sorts before all others. */
const OMITTED_KEY = 'l000000000'

export interface LogWindow {
  add(additions: readonly LogAddition[]): void
  /** Returns the node of the steps: key -> name, time, and lines by key; null without steps. `mark` adds a line where lines were left out. */
  toNode(mark: boolean): Readonly<Record<string, StepNode>> | null
}

export interface StepNode {
  readonly name: string
  readonly creationTimeStamp: number
  readonly logs: Readonly<Record<string, string>>
}

/** Collects lines and drops the oldest when there are too many. */
export function openLogWindow(maxChars = WINDOW_CHARS): LogWindow {
  const steps = new Map<string, { readonly step: LogStep; readonly lines: Map<string, string>; isCut: boolean }>()
  const order: { readonly step: string; readonly line: LogLine }[] = []
  let first = 0
  let chars = 0

  function dropOldest(): void {
    const oldest = order[first]
    if (oldest === undefined) return
    first += 1
    chars -= oldest.line.text.length
    const cut = steps.get(oldest.step)
    cut?.lines.delete(oldest.line.key)
    if (cut !== undefined) cut.isCut = true
    if (first < 10_000) return
    order.splice(0, first)
    first = 0
  }

  return {
    add(additions) {
      for (const { step, lines } of additions) {
        const kept = steps.get(step.key) ?? { step, lines: new Map<string, string>(), isCut: false }
        steps.set(step.key, kept)
        for (const line of lines) {
          kept.lines.set(line.key, line.text)
          order.push({ step: step.key, line })
          chars += line.text.length
        }
      }
      while (chars > maxChars && order.length - first > 1) dropOldest()
    },
    toNode(mark) {
      if (steps.size === 0) return null
      const nodes = [...steps].map(([key, { step, lines, isCut }]): [string, StepNode] => {
        const omitted =
          mark && isCut ? { [OMITTED_KEY]: 'Earlier lines are left out. They are in the log of the ended build.\r\n' } : {}
        return [key, toStepNode(step, { ...omitted, ...Object.fromEntries(lines) })]
      })
      return Object.fromEntries(nodes)
    },
  }
}

export function toStepNode({ name, createdAt }: LogStep, logs: Readonly<Record<string, string>>): StepNode {
  return { name, creationTimeStamp: createdAt, logs }
}
