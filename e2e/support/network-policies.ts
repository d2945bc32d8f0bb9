/**
 * Applies the NetworkPolicies of a namespace to the pods that run now. The network of the test cluster does not enforce policies, so the node does it with
 * iptables: connections between pods pass its FORWARD chain, and those of the kubelet do not, as with a real network.
 */
import { z } from 'zod'
import type { Cluster } from './cluster.ts'
import { runProgram } from './process.ts'

const Labels = z.record(z.string(), z.string()).default({})
const Selector = z.object({ matchLabels: Labels })
const Policies = z.object({
  items: z.array(
    z.object({
      spec: z.object({
        podSelector: Selector,
        ingress: z
          .array(
            z.object({
              from: z.array(z.object({ podSelector: Selector })).optional(),
              ports: z.array(z.object({ port: z.int() })).default([]),
            }),
          )
          .default([]),
      }),
    }),
  ),
})
const Pods = z.object({
  items: z.array(z.object({ metadata: z.object({ labels: Labels }), status: z.object({ podIP: z.string().optional() }) })),
})

type Policy = z.infer<typeof Policies>['items'][number]
type Selection = z.infer<typeof Selector>

/** Refuses what the policies do not allow, until disposed. Knows pod selectors with labels, and ports. */
export async function enforcePolicies(cluster: Cluster, namespace: string): Promise<AsyncDisposable> {
  const read = async (kind: string): Promise<unknown> =>
    JSON.parse(await cluster.kubectl('--namespace', namespace, 'get', kind, '--output', 'json'))
  const policies = Policies.parse(await read('networkpolicies')).items
  const pods = Pods.parse(await read('pods')).items
  const addressesOf = ({ matchLabels }: Selection): string[] =>
    pods.flatMap(({ metadata: { labels }, status: { podIP } }) =>
      podIP !== undefined && Object.entries(matchLabels).every(([name, value]) => labels[name] === value) ? [podIP] : [],
    )
  const chain = `WL-POLICY-${process.pid}`
  const iptables = (...args: string[]): Promise<string> => runProgram('iptables', ['--wait', ...args])
  await iptables('--new-chain', chain)
  await iptables('--append', chain, '--match', 'conntrack', '--ctstate', 'ESTABLISHED,RELATED', '--jump', 'RETURN')
  for (const rule of policies.flatMap((policy) => rulesOf(policy, addressesOf))) await iptables('--append', chain, ...rule)
  await iptables('--insert', 'FORWARD', '--jump', chain)
  return {
    async [Symbol.asyncDispose]() {
      await iptables('--delete', 'FORWARD', '--jump', chain)
      await iptables('--flush', chain)
      await iptables('--delete-chain', chain)
    },
  }
}

const RETURN = ['--jump', 'RETURN']

/** Returns the rules of a policy: what it allows, and the refusal of all else. */
function rulesOf({ spec }: Policy, addressesOf: (selection: Selection) => string[]): string[][] {
  const sourcesOf = (from: readonly { readonly podSelector: Selection }[] | undefined): string[] =>
    from?.flatMap(({ podSelector }) => addressesOf(podSelector)) ?? ['0.0.0.0/0']
  const allowed = spec.ingress.flatMap(({ from, ports }) =>
    sourcesOf(from).flatMap((source) => ports.map(({ port }) => ({ source, port: String(port) }))),
  )
  const protocol = ['--protocol', 'tcp']
  return addressesOf(spec.podSelector).flatMap((target) => [
    ...allowed.map(({ source, port }) => ['--source', source, '--destination', target, ...protocol, '--dport', port, ...RETURN]),
    ['--destination', target, ...protocol, '--jump', 'REJECT', '--reject-with', 'tcp-reset'],
  ])
}
