/** Selects the cluster of a command as kubectl does: flag, KUBECONFIG, ~/.kube/config; or the cluster in which it runs. */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { silentLog } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { inCluster, openKube, readKubeconfig, type ClusterAccess, type Kube } from '@windlass/kube'
import { parse } from 'yaml'
import { z } from 'zod'
import type { Settings } from '../../config.ts'
import { readInput } from '../../input/input-files.ts'

export interface ClusterChoice {
  readonly kubeconfig?: string | undefined
  readonly context?: string | undefined
  readonly inCluster?: boolean | undefined
}

export interface OpenCluster extends AsyncDisposable {
  readonly kube: Kube
  readonly access: ClusterAccess
  /** Name of the context, or `in-cluster`. */
  readonly context: string
  /** Undefined within a cluster. */
  readonly kubeconfig: string | undefined
}

const ContextList = z.looseObject({
  'current-context': z.string().optional(),
  contexts: z.array(z.looseObject({ name: z.string() })).default([]),
})

export interface Contexts {
  readonly kubeconfig: string
  readonly names: readonly string[]
  readonly current: string | undefined
}

/** Returns where a kubeconfig is looked for, and the first one that exists. */
export function findKubeconfig(
  given: string | undefined,
  { environment }: Pick<Settings, 'environment'>,
): { readonly candidates: readonly string[]; readonly kubeconfig: string | undefined } {
  const home = environment['HOME'] ?? homedir()
  const candidates = given !== undefined ? [given] : (environment['KUBECONFIG'] ?? join(home, '.kube', 'config')).split(delimiter)
  return { candidates, kubeconfig: candidates.find((path) => path !== '' && existsSync(path)) }
}

/** Lists the contexts of the first existing kubeconfig. Throws `config-invalid` if there is none. */
export function listContexts(given: string | undefined, settings: Settings): Contexts {
  const { candidates, kubeconfig } = findKubeconfig(given, settings)
  if (kubeconfig === undefined)
    throw fault('config-invalid', {
      message: `No kubeconfig found at ${candidates.join(' or ')}.`,
      hint: 'Set one with --kube-config-path or KUBECONFIG.',
    })
  const parsed = ContextList.safeParse(parse(readInput(kubeconfig).text))
  if (!parsed.success)
    throw fault('config-invalid', {
      message: `${kubeconfig} is not a kubeconfig.`,
      hint: 'Name a kubeconfig with --kube-config-path.',
    })
  const names = parsed.data.contexts.map(({ name }) => name)
  return { kubeconfig, names, current: parsed.data['current-context'] }
}

/** Opens the cluster without sending a request. Throws `config-invalid`. */
export async function openCluster(choice: ClusterChoice, settings: Settings): Promise<OpenCluster> {
  const { access, context, kubeconfig } = await findAccess(choice, settings)
  const kube = openKube({ access, log: silentLog })
  return {
    kube,
    access,
    context,
    kubeconfig,
    async [Symbol.asyncDispose]() {
      kube.close()
    },
  }
}

async function findAccess(
  choice: ClusterChoice,
  settings: Settings,
): Promise<{ access: ClusterAccess; context: string; kubeconfig: string | undefined }> {
  // Within a pod its service account is used, unless a kubeconfig is set.
  const within = choice.kubeconfig === undefined && choice.inCluster !== false ? inCluster(settings.environment) : undefined
  if (within !== undefined && (choice.inCluster === true || settings.environment['KUBECONFIG'] === undefined))
    return { access: within, context: 'in-cluster', kubeconfig: undefined }
  if (choice.inCluster === true)
    throw fault('config-invalid', { message: 'This command does not run in a pod of a cluster.', hint: 'Remove --in-cluster.' })
  const { kubeconfig, names, current } = listContexts(choice.kubeconfig, settings)
  const context = choice.context ?? current
  if (context === undefined || !names.includes(context))
    throw fault('config-invalid', {
      message: context === undefined ? `${kubeconfig} has no current context.` : `${kubeconfig} has no context "${context}".`,
      hint: `Use one of ${names.join(', ')}.`,
    })
  return { access: await readKubeconfig(kubeconfig, context), context, kubeconfig }
}
