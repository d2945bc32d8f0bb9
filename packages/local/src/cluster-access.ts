/** The clusters in the kubeconfig of the user. */
import { readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Plan } from '@windlass/plan'
import type { ClusterAccess } from '@windlass/protocol'
import { listKubeconfigContexts, readKubeconfig } from '@windlass/server'

/**
 * Returns each context of the user's kubeconfig that does not depend on files or programs of this machine, for deploy steps that name it. Steps do
 * not get them in a kubeconfig, because a document must not reach every cluster of the user who runs it. Never throws.
 */
export function readClusters(plan: Plan, environment: Readonly<Record<string, string | undefined>>): ClusterAccess[] {
  if (!plan.steps.some(({ action }) => action.kind === 'deploy')) return []
  const [path = ''] = (environment['KUBECONFIG'] ?? join(environment['HOME'] ?? '/', '.kube', 'config')).split(delimiter)
  const text = readText(path)
  return listKubeconfigContexts(text).flatMap((context) => {
    const read = readKubeconfig(text, context, context)
    return 'json' in read ? [{ context, kubeconfig: read.json, injected: false }] : []
  })
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
