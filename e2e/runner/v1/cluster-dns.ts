/**
 * A DNS server for the only name that a runtime of protocol v1 needs: `<pod>.dind.<namespace>.svc` -> address of the pod. The test cluster
 * has no DNS.
 */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { z } from 'zod'
import type { Cluster } from '../../support/cluster.ts'
import { eventually } from '../../support/installation.ts'

export interface ClusterDns {
  /** Address that pods query, on port 53. */
  readonly address: string
  close(): Promise<void>
}

const ADDRESS_RECORD = 1
const NO_SUCH_NAME = 3
const HEADER_BYTES = 12

/** Answers for pods behind the headless service `dind` of the namespace. Its own service points to a socket of this process. */
export async function startClusterDns(cluster: Cluster, namespace: string): Promise<ClusterDns> {
  const find = async (name: string): Promise<string | undefined> => {
    const pod = new RegExp(`^([a-z0-9-]+)\\.dind\\.${namespace}\\.svc$`).exec(name)?.[1]
    if (pod === undefined) return undefined
    const path = 'jsonpath={.status.podIP}'
    const address = await cluster.kubectl('--namespace', namespace, 'get', 'pod', pod, '--ignore-not-found', '--output', path)
    return address === '' ? undefined : address
  }
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    void answer(query, find).then((reply) => socket.send(reply, port, address))
  })
  socket.bind(0, cluster.host)
  await once(socket, 'listening')
  const metadata = { name: 'dns', namespace }
  const ports = [{ name: 'dns', port: 53, protocol: 'UDP' }]
  const slice = { ...metadata, labels: { 'kubernetes.io/service-name': 'dns' } }
  await cluster.apply(
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports } },
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

/** Answers a query with one question (RFC 1035 4.1); unknown names do not exist. */
async function answer(query: Buffer, find: (name: string) => Promise<string | undefined>): Promise<Buffer> {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('ascii', at + 1, at + 1 + length))
    at += 1 + length
  }
  const question = query.subarray(HEADER_BYTES, at + 5)
  const found = await find(labels.join('.').toLowerCase()).catch(() => undefined)
  const hasRecord = found !== undefined && query.readUInt16BE(at + 1) === ADDRESS_RECORD
  const header = Buffer.from(query.subarray(0, HEADER_BYTES))
  header.writeUInt16BE(0x8580 | (found === undefined ? NO_SUCH_NAME : 0), 2)
  header.writeUInt16BE(hasRecord ? 1 : 0, 6)
  header.writeUInt32BE(0, 8)
  if (!hasRecord) return Buffer.concat([header, question])
  const record = Buffer.from([0xc0, HEADER_BYTES, 0, ADDRESS_RECORD, 0, 1, 0, 0, 0, 1, 0, 4, ...found.split('.').map(Number)])
  return Buffer.concat([header, question, record])
}
