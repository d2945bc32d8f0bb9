/** A DNS server for the few names that a test needs. The test cluster has no DNS. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { z } from 'zod'
import type { Cluster } from './cluster.ts'
import { eventually } from './eventually.ts'

export interface ClusterDns {
  /** Address that pods query, on port 53. */
  readonly address: string
  close(): Promise<void>
}

/** `absent`: the name does not exist. `silent`: no answer, as without a DNS. */
export type Found = { readonly address: string } | 'absent' | 'silent'

export interface ClusterDnsOptions {
  /** Of its Service. */
  readonly namespace: string
  /** Default: assigned by the cluster. Pods of all tests query 10.96.0.10, so a DNS there is silent about the names of others. */
  readonly clusterIP?: string
  readonly find: (name: string) => Promise<Found> | Found
}

/** The address of a DNS that pods query unless they name another one. */
export const DNS_ADDRESS = '10.96.0.10'

const ADDRESS_RECORD = 1
const NO_SUCH_NAME = 3
const HEADER_BYTES = 12

/** Answers pods. Its Service leads to a socket of this process. */
export async function startClusterDns(cluster: Cluster, { namespace, clusterIP, find }: ClusterDnsOptions): Promise<ClusterDns> {
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    void answer(query, find).then((reply) => reply !== undefined && socket.send(reply, port, address))
  })
  socket.bind(0, cluster.host)
  await once(socket, 'listening')
  const metadata = { name: 'dns', namespace }
  const ports = [{ name: 'dns', port: 53, protocol: 'UDP' }]
  const slice = { ...metadata, labels: { 'kubernetes.io/service-name': 'dns' } }
  await cluster.apply(
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports, ...(clusterIP !== undefined && { clusterIP }) } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: slice,
      addressType: 'IPv4',
      ports: [{ name: 'dns', port: socket.address().port, protocol: 'UDP' }],
      endpoints: [{ addresses: [cluster.host], conditions: { ready: true } }],
    },
  )
  const address = await eventually('the service of the DNS has an address', async () => {
    const text = await cluster.kubectl(
      '--namespace',
      namespace,
      'get',
      'service',
      'dns',
      '--output',
      'jsonpath={.spec.clusterIP}',
    )
    return z.ipv4().safeParse(text).data
  })
  return {
    address,
    async close() {
      socket.close()
      await once(socket, 'close')
    },
  }
}

/** Answers a query with one question (RFC 1035 4.1). */
async function answer(query: Buffer, find: ClusterDnsOptions['find']): Promise<Buffer | undefined> {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('ascii', at + 1, at + 1 + length))
    at += 1 + length
  }
  const question = query.subarray(HEADER_BYTES, at + 5)
  const found = await Promise.resolve(find(labels.join('.').toLowerCase())).catch((): Found => 'absent')
  if (found === 'silent') return undefined
  const hasRecord = found !== 'absent' && query.readUInt16BE(at + 1) === ADDRESS_RECORD
  const header = Buffer.from(query.subarray(0, HEADER_BYTES))
  header.writeUInt16BE(0x8580 | (found === 'absent' ? NO_SUCH_NAME : 0), 2)
  header.writeUInt16BE(hasRecord ? 1 : 0, 6)
  header.writeUInt32BE(0, 8)
  if (!hasRecord) return Buffer.concat([header, question])
  const record = Buffer.from([
    0xc0,
    HEADER_BYTES,
    0,
    ADDRESS_RECORD,
    0,
    1,
    0,
    0,
    0,
    1,
    0,
    4,
    ...found.address.split('.').map(Number),
  ])
  return Buffer.concat([header, question, record])
}
