/** Where the pod of a job runs, its DNS and its hooks. */
import type { KubernetesSection } from '../config/sections/kubernetes-section.ts'
import type { ContainerLifecycle } from '../config/sections/scheduling-section.ts'
import { present } from './security.ts'

type Json = Readonly<Record<string, unknown>>

export interface Toleration {
  readonly key?: string
  readonly operator: 'Exists' | 'Equal'
  readonly value?: string
  readonly effect?: string
}

/** Returns the tolerations of a table `"key=value" = "Effect"`. A key without `=` tolerates every value, and an empty one everything. */
export function tolerationsOf(table: Readonly<Record<string, string>> = {}): Toleration[] {
  return Object.entries(table).map(([text, effect]) => {
    const at = text.indexOf('=')
    const key = at < 0 ? text : text.slice(0, at)
    return {
      ...(key !== '' && { key }),
      ...(at < 0 ? { operator: 'Exists' as const } : { operator: 'Equal' as const, value: text.slice(at + 1) }),
      ...(effect !== '' && { effect }),
    }
  })
}

/** Returns `affinity` of the pod. Its keys differ from those of Kubernetes only in their form, and labels keep their names. */
export function affinityOf(affinity: KubernetesSection['affinity']): unknown {
  return affinity === undefined ? undefined : toCamel(affinity)
}

/** Tables whose keys are names of users. */
const FREE_KEYS: ReadonlySet<string> = new Set(['match_labels'])

function toCamel(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toCamel)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      FREE_KEYS.has(key) ? inner : toCamel(inner),
    ]),
  )
}

const DNS_POLICIES: Readonly<Record<string, string>> = {
  none: 'None',
  default: 'Default',
  'cluster-first': 'ClusterFirst',
  'cluster-first-with-host-net': 'ClusterFirstWithHostNet',
}

/** Returns `dnsPolicy` of the pod. */
export function dnsPolicyOf(policy: string | undefined): string | undefined {
  return policy === undefined || policy === '' ? undefined : DNS_POLICIES[policy]
}

/** Returns `lifecycle` of a container. */
export function lifecycleOf(lifecycle: ContainerLifecycle = {}): Json | undefined {
  const hook = (one: ContainerLifecycle['post_start']): Json | undefined =>
    one === undefined
      ? undefined
      : present({
          exec: one.exec,
          httpGet:
            one.http_get === undefined
              ? undefined
              : present({
                  host: one.http_get.host,
                  httpHeaders: one.http_get.http_headers,
                  path: one.http_get.path,
                  port: one.http_get.port,
                  scheme: one.http_get.scheme,
                }),
          tcpSocket: one.tcp_socket,
        })
  return present({ postStart: hook(lifecycle.post_start), preStop: hook(lifecycle.pre_stop) })
}
