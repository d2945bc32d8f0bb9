/** The log of a pod of an application. */
import { followContainerLog, type LogGap, type LogStart } from '@windlass/client/container-log'
import { systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import type { ContainerLog, LogLine } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { EXIT } from '../../exit-codes.ts'
import type { Printer } from '../../printer.ts'
import { openRuntime } from '../gitops-repository/runtime-session.ts'
import { catchInterrupts } from '../run/interrupt.ts'

interface LogOptions {
  readonly runtimeUrl: string | undefined
  readonly container: string | undefined
  readonly tail: number | undefined
  readonly since: number | undefined
  readonly follow: boolean
  readonly timestamps: boolean
  readonly previous: boolean
}

const GAPS: Readonly<Record<LogGap, string>> = {
  cut: 'Lines are missing here: more came at once than can be shown.',
  unsure: 'Lines may be missing here: the container was started again, or its log was rotated.',
}

/** Runs `gitops app logs RUNTIME NAME NAMESPACE/POD`. */
export async function showLogs({ args, options, out, settings }: Invocation<LogOptions>): Promise<number | void> {
  const [runtime = '', name = '', place = ''] = args
  const [namespace = '', pod = '', ...more] = place.split('/')
  if (namespace === '' || pod === '' || more.length > 0)
    throw fault('usage', { message: `"${place}" does not name a pod.`, hint: 'Write NAMESPACE/NAME, see `gitops app tree`.' })
  const { container, tail, since, follow, timestamps, previous } = options
  if (follow && previous)
    throw fault('usage', {
      message: 'The log before the last restart gets no new lines.',
      hint: 'Leave out --follow or --previous.',
    })
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const read: ReadLog = (start, signal) =>
    calls.applicationLogs(name, { query: { pod, namespace, container, previous, ...start }, signal })
  const first = await read({ since, ...(tail !== undefined && { tail }) })
  if (first.isCut === true && tail === undefined && since !== undefined)
    out.note(`Only the last ${first.items.length} lines are shown. See --tail.`)
  const print = printerOf(out, timestamps)
  return follow ? followLog(first, { read, out, print }) : print(first.items)
}

export type ReadLog = (start: LogStart & { readonly since?: number | undefined }, signal?: AbortSignal) => Promise<ContainerLog>

export interface Following {
  readonly read: ReadLog
  readonly out: Printer
  readonly print: (lines: readonly LogLine[]) => void
}

/** Prints a log, and its new lines until Ctrl-C. Returns the exit code. */
export async function followLog(first: ContainerLog, { read, out, print }: Following): Promise<number> {
  using interrupts = catchInterrupts(systemClock)
  const signal = interrupts.first
  let isAway = false
  const sleep = (ms: number, end: AbortSignal): Promise<void> => systemClock.sleep(ms, end)
  for await (const event of followContainerLog(first, { read: (start) => read(start, signal), sleep, signal })) {
    if (event.kind === 'away') {
      if (!isAway) out.note(`No new lines come at the moment. ${isFault(event.error) ? event.error.message : ''}`)
      isAway = true
      continue
    }
    if (event.kind === 'empty') {
      out.note('The log has no lines any more: the pod is gone, or its container was started again and has written nothing.')
      continue
    }
    isAway = false
    if (event.gap !== undefined) out.note(GAPS[event.gap])
    print(event.lines)
  }
  return EXIT.interrupted
}

/** Returns a function that prints lines as the container wrote them. */
export function printerOf(out: Printer, timestamps: boolean): (lines: readonly LogLine[]) => void {
  return (lines) => {
    for (const { text, at, isCut } of lines)
      out.line(`${timestamps && at !== undefined ? `${at} ` : ''}${text}${isCut === true ? ' … (the line is longer)' : ''}`)
  }
}
