/**
 * Converts a Runner installed by the Codefresh CLI (1.x) to chart values with the same agent. Its id and token stay in the existing Secret.
 */
import { defined } from '@windlass/kit/defined'
import { fault } from '@windlass/kit/faults'
import type { Kube } from '@windlass/kube'
import { parse } from 'yaml'
import { z } from 'zod'
import { OLD_TOKEN_KEY, readSecret, RUNTIMES_SECRET, TOKEN_SECRET } from '../cluster/secrets.ts'
import type { Tree } from '../values/read-values.ts'
import { readOldSettings } from './migrate.ts'

/** `app` labels of the objects that the Codefresh CLI installed and the chart creates again. The Secret `runner` is kept. */
export const OLD_APPS = ['runner', 'venona', 'dind-volume-provisioner', 'dind-lv-monitor', 'app-proxy'] as const
/** Kinds to delete. Secrets are kept, because of the agent's token. */
export const OLD_KINDS = [
  'Deployment',
  'DaemonSet',
  'CronJob',
  'Service',
  'ServiceAccount',
  'Role',
  'RoleBinding',
  'ConfigMap',
] as const
export const OLD_SELECTOR = `app in (${OLD_APPS.join(', ')})`

const RunnerShape = z.looseObject({
  spec: z.looseObject({
    template: z.looseObject({
      spec: z.looseObject({
        containers: z
          .array(z.looseObject({ env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })).default([]) }))
          .min(1),
      }),
    }),
  }),
})
const RuntimeName = z.looseObject({ name: z.string() })

export interface OldInstallation {
  readonly agentId: string
  readonly runtimeNames: readonly string[]
  readonly values: Tree
}

/** Reads the installation. Throws `not-found` without its Deployment or Secret. */
export async function readOldInstallation(kube: Kube, namespace: string): Promise<OldInstallation> {
  const deployment = await kube.find({ kind: 'Deployment', namespace, name: 'runner' })
  const secret = await readSecret(kube, namespace, TOKEN_SECRET.name)
  const key = [OLD_TOKEN_KEY, TOKEN_SECRET.key].find((name) => secret?.[name] !== undefined)
  if (deployment === undefined || key === undefined)
    throw fault('not-found', {
      message: `The namespace ${namespace} has no Runner that was installed with the Codefresh CLI.`,
      hint: 'Choose the namespace with the Deployment and Secret `runner` with --kube-namespace.',
    })
  const runtimes = Object.entries((await readSecret(kube, namespace, RUNTIMES_SECRET)) ?? {})
  const names = runtimes.flatMap(([file, text]) => (file.endsWith('.runtime.yaml') ? [RuntimeName.parse(parse(text)).name] : []))
  return toOldInstallation(deployment, { key, runtimeNames: names })
}

/** Converts the objects of an installation. Pure. */
export function toOldInstallation(deployment: unknown, found: { key: string; runtimeNames: readonly string[] }): OldInstallation {
  const variables = RunnerShape.parse(deployment).spec.template.spec.containers[0]?.env ?? []
  const valueOf = (name: string): string | undefined => variables.find((variable) => variable.name === name)?.value
  const agentId = valueOf('AGENT_ID')
  if (agentId === undefined) throw fault('not-found', { message: 'The Deployment `runner` does not set AGENT_ID.' })
  const { tolerations, nodeSelector, env } = readOldSettings(deployment)
  const [runtimeName] = found.runtimeNames
  const global = {
    agentTokenSecretKeyRef: { name: TOKEN_SECRET.name, key: found.key },
    ...(valueOf('AGENT_NAME') !== undefined && { agentName: valueOf('AGENT_NAME') }),
    ...defined({ runtimeName }),
    ...(valueOf('CODEFRESH_HOST') !== undefined && { codefreshHost: valueOf('CODEFRESH_HOST') }),
  }
  const runner = {
    ...(tolerations.length > 0 && { tolerations }),
    ...(Object.keys(nodeSelector).length > 0 && { nodeSelector }),
    ...(Object.keys(env).length > 0 && { env }),
  }
  const values = { global, ...(Object.keys(runner).length > 0 && { runner }) }
  return { agentId, runtimeNames: found.runtimeNames, values }
}
