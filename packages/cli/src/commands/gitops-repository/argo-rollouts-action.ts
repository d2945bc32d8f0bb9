/** `gitops cluster create-argo-rollouts`: Argo Rollouts in a cluster of a GitOps runtime. */
import type { Invocation } from '../../command.ts'
import { printValue } from '../../format/output.ts'
import { readValues } from './chart-action.ts'
import { clusterOf } from './cluster-action.ts'
import { COMMIT_TIMEOUT, openRuntime, printChange } from './runtime-session.ts'

interface Options {
  readonly runtimeUrl: string | undefined
  readonly output: 'json' | 'yaml' | undefined
  readonly serverUrl: string | undefined
  readonly namespace: string | undefined
  readonly chart: string | undefined
  readonly version: string | undefined
  readonly values: string | undefined
  readonly message: string | undefined
}

/** Runs `gitops cluster create-argo-rollouts RUNTIME [NAME]`. */
export async function createArgoRollouts({ args, options, out, settings }: Invocation<Options>): Promise<void> {
  const [runtime = '', given] = args
  const { serverUrl, namespace, chart, version, message, output } = options
  const values = options.values === undefined ? undefined : await readValues(options.values)
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const cluster = await clusterOf(calls, { runtime, given, serverUrl })
  const change = await calls.createArgoRollouts(cluster, { namespace, chart, version, values, message }, COMMIT_TIMEOUT)
  if (output !== undefined) return printValue(out, change, output)
  printChange(out, `application/${change.application}`, { verb: `set to ${change.version}`, commit: change.commit })
}
