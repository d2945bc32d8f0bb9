/** `gitops workflow logs`. */
import { fault } from '@windlass/kit/faults'
import type { LogLine } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { openRuntime } from '../gitops-repository/runtime-session.ts'
import { followLog, printerOf, type ReadLog } from '../gitops-applications/logs.ts'

interface LogOptions {
  readonly runtimeUrl: string | undefined
  readonly container: string | undefined
  readonly tail: number | undefined
  readonly since: number | undefined
  readonly follow: boolean
  readonly timestamps: boolean
}

/** Runs `gitops workflow logs RUNTIME NAME [POD]`. */
export async function showWorkflowLogs({ args, options, out, settings }: Invocation<LogOptions>): Promise<number | void> {
  const [runtime = '', name = '', given] = args
  const { container, tail, since, follow, timestamps } = options
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const pods = given === undefined ? (await calls.workflow(name)).pods : []
  if (given === undefined && pods.length === 0)
    return out.note('The workflow has no pods: none has started, or they are deleted.')
  if (follow && pods.length > 1)
    throw fault('usage', {
      message: `The workflow has ${pods.length} pods, and one log can be followed.`,
      hint: `Name a pod: ${pods.map((pod) => pod.name).join(', ')}.`,
    })
  const pod = given ?? (pods.length === 1 ? pods[0]?.name : undefined)
  const read: ReadLog = (start, signal) => calls.workflowLogs(name, { query: { pod, container, ...start }, signal })
  const first = await read({ since, ...(tail !== undefined && { tail }) })
  if (first.isCut === true && tail === undefined) out.note(`Only the last ${first.items.length} lines are shown. See --tail.`)
  const print = printerOf(out, timestamps)
  // As `argo logs` shows them. Who names a pod knows it.
  const printWithPods = (lines: readonly LogLine[]): void =>
    print(given === undefined ? lines.map((line) => ({ ...line, text: `${line.pod}: ${line.text}` })) : lines)
  return follow ? followLog(first, { read, out, print: printWithPods }) : printWithPods(first.items)
}
