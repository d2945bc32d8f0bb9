/** `gitops workflow logs`. */
import { fault } from '@windlass/kit/faults'
import type { LogLine, WorkflowLog } from '@windlass/protocol'
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
  const known = given === undefined ? (await calls.workflow(name)).pods : []
  if (given === undefined && known.length === 0)
    return out.note('The workflow has no pods: none has started, or they are deleted.')
  const pods = follow ? known.filter(({ isArchived }) => isArchived !== true) : known
  if (follow && pods.length < known.length && pods.length === 0)
    return out.note('All pods of the workflow are deleted. Leave out --follow for their archived logs.')
  if (follow && pods.length > 1)
    throw fault('usage', {
      message: `The workflow has ${pods.length} pods, and one log can be followed.`,
      hint: `Name a pod: ${pods.map((pod) => pod.name).join(', ')}.`,
    })
  const pod = given ?? (pods.length === 1 ? pods[0]?.name : undefined)
  const read = (start: Parameters<ReadLog>[0], signal?: AbortSignal): Promise<WorkflowLog> =>
    calls.workflowLogs(name, { query: { pod, container, ...(follow && { live: true }), ...start }, signal })
  const first = await read({ since, ...(tail !== undefined && { tail }) })
  const { archived = [], missing = [] } = first
  if (archived.length > 0) out.note(`From the archive, without times: ${archived.join(', ')}.`)
  if (missing.length > 0) out.note(`Without the logs of ${missing.join(', ')}. Name one of these pods to see why.`)
  if (first.isCut === true && tail === undefined) out.note(`Only the last ${first.items.length} lines are shown. See --tail.`)
  const print = printerOf(out, timestamps)
  // As `argo logs` shows them. Who names a pod knows it.
  const printWithPods = (lines: readonly LogLine[]): void =>
    print(given === undefined ? lines.map((line) => ({ ...line, text: `${line.pod}: ${line.text}` })) : lines)
  return follow ? followLog(first, { read, out, print: printWithPods }) : printWithPods(first.items)
}
