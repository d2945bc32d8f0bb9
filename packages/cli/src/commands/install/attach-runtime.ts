/** The commands `attach runtime` and `detach runtime`. */
import { fault } from '@windlass/kit/faults'
import type { Invocation } from '../../command.ts'
import type { Settings } from '../../config.ts'
import type { Printer } from '../../printer.ts'
import {
  attachInCluster,
  attachOnServer,
  detachInCluster,
  detachOnServer,
  findAgent,
  isAttachedInCluster,
  enableRuntimeFiles,
  refreshAgentFiles,
  restartAgent,
  printReload,
} from '../../runner/attach/attach.ts'
import { AGENT_ACCOUNT } from '../../runner/install/agent-account.ts'
import { openInstallTarget, type HelmFlags } from '../../runner/install/target.ts'
import { readInstallValues, type ValueFlags } from '../../runner/values/install-values.ts'
import { openSession } from '../../session/session.ts'

export interface AttachOptions extends ValueFlags {
  readonly runtimeName?: string | undefined
  readonly agentName?: string | undefined
  readonly agentId?: string | undefined
  readonly runtimeKubeContextName?: string | undefined
  readonly runtimeKubeNamespace?: string | undefined
  readonly runtimeKubeConfigPath?: string | undefined
  readonly runtimeKubeServiceAccount?: string | undefined
  readonly agentKubeContextName?: string | undefined
  readonly agentKubeNamespace?: string | undefined
  readonly agentKubeConfigPath?: string | undefined
  readonly tokenLifetime?: number | undefined
  readonly restartAgent?: boolean | undefined
  readonly platformOnly: boolean
}

interface AttachRequest {
  readonly options: AttachOptions & HelmFlags
  readonly out: Printer
  readonly settings: Settings
}

export async function attachRuntime({ options, out, settings }: Invocation<AttachOptions & HelmFlags>): Promise<void> {
  await attachRuntimeOf({ options, out, settings })
  out.line(`Runtime ${options.runtimeName ?? ''} is attached`)
}

/** Attaches a runtime, also for `install runtime --attach-runtime`. Throws `usage` without a runtime or namespace. */
export async function attachRuntimeOf({ options, out, settings }: AttachRequest): Promise<void> {
  const { runtimeName } = options
  if (runtimeName === undefined)
    throw fault('usage', { message: 'No runtime was given.', hint: 'Add --runtime-name; list them with `windlass get re`.' })
  const namespace = options.runtimeKubeNamespace ?? options.kubeNamespace
  if (namespace === undefined && !options.platformOnly)
    throw fault('usage', {
      message: 'The namespace of its builds was not given.',
      hint: 'Add --runtime-kube-namespace, or --platform-only.',
    })
  const { client } = openSession(settings)
  const agent = await findAgent(client, options)
  await attachOnServer(client, agent, runtimeName)
  if (options.platformOnly) return
  await using runtimeTarget = await openInstallTarget(runtimeFlags(options), options, settings)
  await using agentTarget = await openInstallTarget(agentFlags(options), options, settings)
  const account = options.runtimeKubeServiceAccount ?? AGENT_ACCOUNT
  const host = readInstallValues(options).installer.KubernetesHost
  await attachInCluster({ runtime: runtimeName, runtimeTarget, agentTarget, account, host, tokenSeconds: options.tokenLifetime })
  const isNew = await enableRuntimeFiles(client, agent, agentTarget)
  if (options.restartAgent === true && !isNew) await restartAgent(agentTarget)
  else await refreshAgentFiles(agentTarget)
  printReload(out, options.restartAgent === true || isNew)
}

function runtimeFlags(options: AttachOptions): ValueFlags {
  return {
    kubeNamespace: options.runtimeKubeNamespace ?? options.kubeNamespace,
    kubeContextName: options.runtimeKubeContextName ?? options.kubeContextName,
    kubeConfigPath: options.runtimeKubeConfigPath ?? options.kubeConfigPath,
    inCluster: options.inCluster,
  }
}

/** Returns the flags of the agent's cluster. Without them, the agent is in the cluster of the general flags. */
export function agentFlags(options: Omit<AttachOptions, 'platformOnly'>): ValueFlags {
  return {
    kubeNamespace: options.agentKubeNamespace ?? options.kubeNamespace,
    kubeContextName: options.agentKubeContextName ?? options.kubeContextName,
    kubeConfigPath: options.agentKubeConfigPath ?? options.kubeConfigPath,
    inCluster: options.inCluster,
  }
}

export async function detachRuntime({ options, out, settings }: Invocation<AttachOptions & HelmFlags>): Promise<void> {
  const { runtimeName } = options
  if (runtimeName === undefined) throw fault('usage', { message: 'No runtime was given.', hint: 'Add --runtime-name.' })
  const { client } = openSession(settings)
  const agent = await findAgent(client, options)
  if (options.platformOnly) await detachOnServer(client, agent, runtimeName)
  else {
    await using agentTarget = await openInstallTarget(agentFlags(options), options, settings)
    await detachOnServer(client, agent, runtimeName, await isAttachedInCluster(agentTarget, runtimeName))
    await detachInCluster(agentTarget, runtimeName)
    if (options.restartAgent === true) await restartAgent(agentTarget)
    else await refreshAgentFiles(agentTarget)
  }
  out.line(`Runtime ${runtimeName} is detached`)
}
