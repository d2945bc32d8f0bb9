/** `attach runtime` and `detach runtime`. */
import { fault } from '@windlass/kit/faults'
import type { Invocation } from '../command.ts'
import type { Settings } from '../config.ts'
import type { Printer } from '../printer.ts'
import {
  attachInCluster,
  attachOnServer,
  detachInCluster,
  detachOnServer,
  findAgent,
  letAgentReadFiles,
  noticeAgent,
  restartAgent,
  tellReload,
} from '../runner/attach/attach.ts'
import { AGENT_ACCOUNT } from '../runner/install/agent-account.ts'
import { openInstallPlace, type HelmFlags } from '../runner/install/place.ts'
import { readWishes, type ValueFlags } from '../runner/values/wishes.ts'
import { openSession } from '../session.ts'

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

interface Work {
  readonly options: AttachOptions & HelmFlags
  readonly out: Printer
  readonly settings: Settings
}

export async function attachRuntime({ options, out, settings }: Invocation<AttachOptions & HelmFlags>): Promise<void> {
  await attachRuntimeOf({ options, out, settings })
  out.line(`Runtime ${options.runtimeName ?? ''} is attached`)
}

/** The work of `attach runtime`, also for `install runtime --attach-runtime`. Throws `usage` without names. */
export async function attachRuntimeOf({ options, out, settings }: Work): Promise<void> {
  const { runtimeName } = options
  if (runtimeName === undefined)
    throw fault('usage', { message: 'Which runtime?', hint: 'Add --runtime-name; `windlass get re` lists them.' })
  const namespace = options.runtimeKubeNamespace ?? options.kubeNamespace
  if (namespace === undefined && !options.platformOnly)
    throw fault('usage', {
      message: 'In which namespace are its builds?',
      hint: 'Add --runtime-kube-namespace, or --platform-only.',
    })
  const { client } = openSession(settings)
  const agent = await findAgent(client, options)
  await attachOnServer(client, agent, runtimeName)
  if (options.platformOnly) return
  await using there = await openInstallPlace(runtimePlace(options), options, settings)
  await using here = await openInstallPlace(agentPlace(options), options, settings)
  const account = options.runtimeKubeServiceAccount ?? AGENT_ACCOUNT
  const host = readWishes(options).installer.KubernetesHost
  await attachInCluster({ runtime: runtimeName, there, here, account, host, tokenSeconds: options.tokenLifetime })
  const isNew = await letAgentReadFiles(client, agent, here)
  if (options.restartAgent === true && !isNew) await restartAgent(here)
  else await noticeAgent(here)
  tellReload(out, options.restartAgent === true || isNew)
}

function runtimePlace(options: AttachOptions): ValueFlags {
  return {
    kubeNamespace: options.runtimeKubeNamespace ?? options.kubeNamespace,
    kubeContextName: options.runtimeKubeContextName ?? options.kubeContextName,
    kubeConfigPath: options.runtimeKubeConfigPath ?? options.kubeConfigPath,
    inCluster: options.inCluster,
  }
}

function agentPlace(options: AttachOptions): ValueFlags {
  return {
    kubeNamespace: options.agentKubeNamespace ?? options.kubeNamespace,
    kubeContextName: options.agentKubeContextName ?? options.kubeContextName,
    kubeConfigPath: options.agentKubeConfigPath ?? options.kubeConfigPath,
    inCluster: options.inCluster,
  }
}

export async function detachRuntime({ options, out, settings }: Invocation<AttachOptions & HelmFlags>): Promise<void> {
  const { runtimeName } = options
  if (runtimeName === undefined) throw fault('usage', { message: 'Which runtime?', hint: 'Add --runtime-name.' })
  const { client } = openSession(settings)
  await detachOnServer(client, await findAgent(client, options), runtimeName)
  if (!options.platformOnly) {
    await using here = await openInstallPlace(agentPlace(options), options, settings)
    await detachInCluster(here, runtimeName)
    if (options.restartAgent === true) await restartAgent(here)
    else await noticeAgent(here)
  }
  out.line(`Runtime ${runtimeName} is detached`)
}
