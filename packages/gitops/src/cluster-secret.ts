/** The Secret with which Argo CD reaches a managed cluster (https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/#clusters). It is in the namespace of the runtime only. */
import { z } from 'zod'
import type { ClusterLogin } from './cluster-login.ts'

/** Argo CD finds clusters by it. */
export const SECRET_TYPE_LABEL = 'argocd.argoproj.io/secret-type'
/** Marks the Secrets that the app-proxy made. Its value is the name of the cluster. */
export const CLUSTER_LABEL = 'windlass.io/managed-cluster'

/** Prefixes of labels and annotations that callers cannot set: they decide what Argo CD and this project do with the Secret. */
const RESERVED = /^(?:[\w.-]+\.)?(?:argoproj\.io|windlass\.io|codefresh\.io|kubernetes\.io|k8s\.io)\//

export interface ClusterSecretOptions {
  readonly name: string
  readonly namespace: string
  readonly login: ClusterLogin
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly annotations?: Readonly<Record<string, string>> | undefined
}

/** An alias and no interface, so that it is also an object of any kind. */
export type ClusterSecret = {
  readonly apiVersion: 'v1'
  readonly kind: 'Secret'
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly labels: Record<string, string>
    readonly annotations: Record<string, string>
  }
  readonly type: 'Opaque'
  readonly data: Record<string, string>
}

export function clusterSecretName(cluster: string): string {
  return `cluster-${cluster}`
}

/** Returns the Secret of a cluster. Its values are base64. */
export function clusterSecret({ name, namespace, login, labels, annotations }: ClusterSecretOptions): ClusterSecret {
  const { server, token, caData } = login
  const config = { bearerToken: token, tlsClientConfig: { insecure: false, ...(caData !== undefined && { caData }) } }
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: clusterSecretName(name),
      namespace,
      labels: { ...free(labels), [SECRET_TYPE_LABEL]: 'cluster', [CLUSTER_LABEL]: name },
      annotations: free(annotations),
    },
    type: 'Opaque',
    data: { name: toBase64(name), server: toBase64(server), config: toBase64(JSON.stringify(config)) },
  }
}

function free(entries: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(entries).filter(([key]) => !RESERVED.test(key)))
}

function toBase64(text: string): string {
  return Buffer.from(text).toString('base64')
}

const SecretData = z.object({ data: z.object({ name: z.string(), server: z.string() }) })

/** Returns the name and the URL of the cluster of a Secret, and nothing of its credentials. Undefined for another object. */
export function readClusterSecret(secret: unknown): { readonly name: string; readonly server: string } | undefined {
  const found = SecretData.safeParse(secret).data
  return found === undefined ? undefined : { name: fromBase64(found.data.name), server: fromBase64(found.data.server) }
}

function fromBase64(text: string): string {
  return Buffer.from(text, 'base64').toString('utf8')
}
