/**
 * Applies the NetworkPolicies of a namespace to the pods that run now. The network of the test cluster does not enforce policies, so the node does it with
 * iptables: connections of pods pass its chains FORWARD and INPUT, and those of the kubelet to pods do not, as with a real network.
 */
import { z } from 'zod'
import type { Cluster } from './cluster.ts'
import { runProgram } from './process.ts'

const Labels = z.record(z.string(), z.string())
const Selector = z.strictObject({
  matchLabels: Labels.default({}),
  matchExpressions: z
    .array(z.strictObject({ key: z.string(), operator: z.enum(['In', 'NotIn']), values: z.array(z.string()) }))
    .default([]),
})
/** A selector of namespaces knows their names only. */
const OtherNamespace = z.strictObject({ matchLabels: z.strictObject({ 'kubernetes.io/metadata.name': z.string() }) })
const Peer = z.strictObject({
  podSelector: Selector.optional(),
  namespaceSelector: OtherNamespace.optional(),
  ipBlock: z.strictObject({ cidr: z.string(), except: z.array(z.string()).default([]) }).optional(),
})
const Peers = z.array(Peer).optional()
const Ports = z.array(z.strictObject({ port: z.int(), protocol: z.string().default('TCP') })).default([])
const Policies = z.object({
  items: z.array(
    z.object({
      spec: z.strictObject({
        podSelector: Selector,
        policyTypes: z.array(z.enum(['Ingress', 'Egress'])),
        ingress: z.array(z.strictObject({ from: Peers, ports: Ports })).default([]),
        egress: z.array(z.strictObject({ to: Peers, ports: Ports })).default([]),
      }),
    }),
  ),
})
const Pods = z.object({
  items: z.array(
    z.object({ metadata: z.object({ labels: Labels.default({}) }), status: z.object({ podIP: z.string().optional() }) }),
  ),
})

type Direction = 'Ingress' | 'Egress'
type Spec = z.infer<typeof Policies>['items'][number]['spec']
type Pod = z.infer<typeof Pods>['items'][number]

/** What the rules of a direction allow: peers, all of them if absent, at ports, all of them if there are none. */
interface Allowed {
  readonly peers: readonly z.infer<typeof Peer>[] | undefined
  readonly ports: z.infer<typeof Ports>
}

/** Addresses that are allowed, without some of them. */
interface Addresses {
  readonly cidr: string
  readonly except: readonly string[]
}

const EVERYWHERE: Addresses = { cidr: '0.0.0.0/0', except: [] }
const RETURN = ['--jump', 'RETURN']
const REJECT = ['--jump', 'REJECT', '--reject-with', 'tcp-reset']
const HOOKS = ['FORWARD', 'INPUT']

/** Refuses the TCP connections that the policies do not allow, until disposed. Throws for a policy with something that it does not know. */
export async function enforcePolicies(cluster: Cluster, namespace: string): Promise<AsyncDisposable> {
  const read = async (kind: string, place: string): Promise<unknown> =>
    JSON.parse(await cluster.kubectl('--namespace', place, 'get', kind, '--output', 'json'))
  const podsIn = async (place: string): Promise<Pod[]> => Pods.parse(await read('pods', place)).items
  const specs = Policies.parse(await read('networkpolicies', namespace)).items.map(({ spec }) => spec)
  const pods = new Map([[namespace, await podsIn(namespace)]])
  for (const name of specs.flatMap(namespacesOf)) if (!pods.has(name)) pods.set(name, await podsIn(name))
  const iptables = (...args: string[]): Promise<string> => runProgram('iptables', ['--wait', ...args])
  await using opening = new AsyncDisposableStack()
  // Each direction has a chain, because a connection has to be allowed by both.
  for (const direction of ['Ingress', 'Egress'] as const) {
    const chain = `WL-${direction.toUpperCase()}-${process.pid}`
    await iptables('--new-chain', chain)
    opening.defer(async () => {
      await iptables('--flush', chain)
      await iptables('--delete-chain', chain)
    })
    await iptables('--append', chain, '--match', 'conntrack', '--ctstate', 'ESTABLISHED,RELATED', ...RETURN)
    for (const pod of pods.get(namespace) ?? [])
      for (const rule of rulesOf(pod, { direction, specs, pods, namespace })) await iptables('--append', chain, ...rule)
    for (const hook of HOOKS) {
      await iptables('--insert', hook, '--jump', chain)
      opening.defer(async () => void (await iptables('--delete', hook, '--jump', chain)))
    }
  }
  const opened = opening.move()
  return { [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

interface Enforced {
  readonly direction: Direction
  readonly specs: readonly Spec[]
  /** Pods of the namespaces that policies name. */
  readonly pods: ReadonlyMap<string, readonly Pod[]>
  readonly namespace: string
}

/** Returns the rules of a pod: what its policies allow together, and the refusal of all else. None for a pod without a policy. */
function rulesOf(pod: Pod, { direction, specs, pods, namespace }: Enforced): string[][] {
  const address = pod.status.podIP
  const own = specs.filter(({ podSelector, policyTypes }) => policyTypes.includes(direction) && isSelected(pod, podSelector))
  if (address === undefined || own.length === 0) return []
  const [ofPod, ofPeer] = direction === 'Ingress' ? ['--destination', '--source'] : ['--source', '--destination']
  const tcp = [ofPod, address, '--protocol', 'tcp']
  const rules = own.flatMap((spec) => allowedBy(spec, direction))
  const allowed = rules.flatMap(({ peers, ports }) => {
    const some = ports.filter(({ protocol }) => protocol === 'TCP').map(({ port }) => ['--dport', String(port)])
    const addresses = peers?.flatMap((peer) => addressesOf(peer, { pods, namespace })) ?? [EVERYWHERE]
    return addresses.flatMap((one) => (ports.length === 0 ? [[]] : some).map((port) => ({ ...one, port })))
  })
  // What a block leaves out can be allowed by another one, so it comes last. What it leaves out is refused at all ports.
  const ordered = allowed.toSorted((one, other) => one.except.length - other.except.length)
  if (ordered.filter(({ except }) => except.length > 0).length > 1) throw new Error('two rules of a pod have exceptions')
  return [
    ...ordered.flatMap(({ cidr, except, port }) => [
      ...except.map((left) => [...tcp, ofPeer, left, ...REJECT]),
      [...tcp, ofPeer, cidr, ...port, ...RETURN],
    ]),
    [...tcp, ...REJECT],
  ]
}

function allowedBy(spec: Spec, direction: Direction): Allowed[] {
  return direction === 'Ingress'
    ? spec.ingress.map(({ from, ports }) => ({ peers: from, ports }))
    : spec.egress.map(({ to, ports }) => ({ peers: to, ports }))
}

function addressesOf(
  { ipBlock, namespaceSelector, podSelector }: z.infer<typeof Peer>,
  { pods, namespace }: Pick<Enforced, 'pods' | 'namespace'>,
): Addresses[] {
  if (ipBlock !== undefined) return [ipBlock]
  const place = namespaceSelector?.matchLabels['kubernetes.io/metadata.name'] ?? namespace
  return (pods.get(place) ?? []).flatMap((pod) => {
    const { podIP } = pod.status
    const isPeer = podIP !== undefined && (podSelector === undefined || isSelected(pod, podSelector))
    return isPeer ? [{ cidr: `${podIP}/32`, except: [] }] : []
  })
}

function isSelected({ metadata: { labels } }: Pod, { matchLabels, matchExpressions }: z.infer<typeof Selector>): boolean {
  return (
    Object.entries(matchLabels).every(([name, value]) => labels[name] === value) &&
    matchExpressions.every(({ key, operator, values }) => {
      const isIn = values.includes(labels[key] ?? '')
      return operator === 'In' ? isIn : !isIn
    })
  )
}

/** Returns the other namespaces that a policy names. */
function namespacesOf({ ingress, egress }: Spec): string[] {
  const peers = [...ingress.flatMap(({ from = [] }) => from), ...egress.flatMap(({ to = [] }) => to)]
  return peers.flatMap(({ namespaceSelector }) => namespaceSelector?.matchLabels['kubernetes.io/metadata.name'] ?? [])
}
