/** Builds through agent protocol v1 on a real cluster: only claims and pods, lasting certificates, addresses by name. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Build } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ClusterDns, type Found, startClusterDns } from '../../support/cluster-dns.ts'
import { eventually, type Installation, startInstallation } from '../../support/installation.ts'
import { runProgram } from '../../support/process.ts'
import { openStage, type Stage } from '../volumes/stage.ts'

const NAMESPACE = `v1-${process.pid}`

let installation: Installation
let stage: Stage
let dns: ClusterDns

beforeAll(async () => {
  installation = await startInstallation(NAMESPACE, {
    agentEnv: {
      WINDLASS_AGENT_PROTOCOL: 'v1',
      WINDLASS_AGENT_ID: 'one-node',
      WINDLASS_AGENT_POLL_SECONDS: '1',
      // The provisioner makes the disks, because this protocol has no others.
      WINDLASS_AGENT_VOLUME_DIR: '',
    },
  })
  stage = await openStage({ namespace: NAMESPACE, isThere: true })
  dns = await startClusterDns(installation.cluster, { namespace: NAMESPACE, find: findPod })
  await installCertificates()
  await installation.cluster.apply({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'dind', namespace: NAMESPACE },
    spec: { clusterIP: 'None', selector: { app: 'dind' }, ports: [{ name: 'docker', port: 1300 }] },
  })
  const runtimeScheduler = {
    cluster: { namespace: NAMESPACE },
    dnsPolicy: 'None',
    dnsConfig: { nameservers: [dns.address] },
  }
  const dockerDaemonScheduler = { pvcs: { dind: { storageClassName: stage.className, volumeSize: '1Gi' } } }
  await installation.client.runtimes.put(NAMESPACE, {
    name: NAMESPACE,
    agent: 'one-node',
    isDefault: true,
    spec: { runtimeScheduler, dockerDaemonScheduler },
  })
})
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]()
  await dns?.close()
  await installation?.close()
})

/** Finds the only names that a runtime of protocol v1 needs: `<pod>.dind.<namespace>.svc` -> address of the pod. */
async function findPod(name: string): Promise<Found> {
  const pod = new RegExp(`^([a-z0-9-]+)\\.dind\\.${NAMESPACE}\\.svc$`).exec(name)?.[1]
  if (pod === undefined) return 'absent'
  const address = await installation.kubectl('get', 'pod', pod, '--ignore-not-found', '--output', 'jsonpath={.status.podIP}')
  return address === '' ? 'absent' : { address }
}

/** Does the work of the certificate job of the chart: a key, a request, the archive that the server returns, a Secret. */
async function installCertificates(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-certificates-'))
  const at = (name: string): string => join(folder, name)
  const request = ['req', '-new', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=docker.codefresh.io']
  await runProgram('openssl', [...request, '-keyout', at('server-key.pem'), '-out', at('csr.pem')])
  const names = `IP:127.0.0.1,DNS:dind,DNS:*.dind.${NAMESPACE},DNS:*.dind.${NAMESPACE}.svc`
  const answer = await fetch(`${installation.url}/api/custom_clusters/signServerCerts`, {
    method: 'POST',
    headers: { authorization: installation.adminToken, 'content-type': 'application/json' },
    body: JSON.stringify({ reqSubjectAltName: names, csr: await runProgram('cat', [at('csr.pem')]) }),
  })
  await writeFile(at('certs.zip'), Buffer.from(await answer.arrayBuffer()))
  await runProgram('python3', ['-m', 'zipfile', '-e', at('certs.zip'), folder])
  const files = { 'ca.pem': 'cf-ca.pem', 'server-cert.pem': 'cf-server-cert.pem', 'server-key.pem': 'server-key.pem' }
  const from = Object.entries(files).map(([key, name]) => `--from-file=${key}=${at(name)}`)
  await installation.kubectl('create', 'secret', 'generic', 'codefresh-certs-server', ...from)
  await rm(folder, { recursive: true, force: true })
}

async function run(commands: string[]): Promise<Build> {
  const document = JSON.stringify({
    version: '1.0',
    // The only image on a fresh disk.
    steps: { hello: { image: installation.images['TOOLS_IMAGE'], commands } },
  })
  return installation.client.builds.create({ document })
}

async function ended(build: Build): Promise<Build> {
  return eventually(
    `the build ends\n${installation.agent.log().slice(-3000)}`,
    async () => {
      const now = await installation.client.builds.get(build.id)
      return ['success', 'error', 'terminated'].includes(now.status) ? now : undefined
    },
    240_000,
  )
}

/** Returns the names of the remaining objects of a build. */
async function leftOf(build: Build): Promise<string[]> {
  const kinds = ['Pod', 'PersistentVolumeClaim', 'Secret'] as const
  const named = kinds.map(async (kind) =>
    (await installation.names(kind, `windlass.io/build=${build.id}`)).map((name) => `${kind}/${name}`),
  )
  return (await Promise.all(named)).flat()
}

async function isCleared(build: Build): Promise<void> {
  await eventually('nothing is left of the build', async () => ((await leftOf(build)).length === 0 ? true : undefined), 180_000)
}

test('a build runs through a polling agent: a claim and two pods, no Secret, and a lasting certificate of the daemon (R226, R242)', async () => {
  const build = await run(['echo hello from protocol v$((3 - 2))', 'sleep 3'])
  const pods = await eventually(
    'both pods are there',
    async () => {
      const left = await leftOf(build)
      return left.includes(`Pod/engine-${build.id}`) ? left : undefined
    },
    180_000,
  )
  expect(pods.toSorted()).toEqual([
    `PersistentVolumeClaim/pvc-dind-${build.id}`,
    `Pod/dind-${build.id}`,
    `Pod/engine-${build.id}`,
  ])
  expect(await ended(build)).toMatchObject({ status: 'success' })
  expect(await installation.client.builds.log(build.id)).toContain('hello from protocol v1')
  await isCleared(build)
  expect(await installation.client.agents.get('one-node')).toMatchObject({ protocol: 1, health: 'healthy' })
})

test('a terminated build leaves no pod and no claim, and its disk is free for the next one (R245)', async () => {
  const build = await run(['echo running since $((1 + 1)) seconds', 'sleep 600'])
  await eventually(
    'the step runs',
    async () => {
      const log = await installation.client.builds.log(build.id).catch(() => '')
      return log.includes('running since 2 seconds') ? true : undefined
    },
    240_000,
  )
  await installation.client.builds.terminate(build.id)
  expect(await ended(build)).toMatchObject({ status: 'terminated', reason: 'cancelled' })
  await isCleared(build)
})

test('a refusal of the cluster ends the build with its message', async () => {
  const quota = {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'full', namespace: NAMESPACE },
    spec: { hard: { persistentvolumeclaims: '0' } },
  }
  await installation.cluster.apply(quota)
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'one-more', namespace: NAMESPACE },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: stage.className, resources: { requests: { storage: '1Gi' } } },
  }
  const path = await installation.file('claim.json', JSON.stringify(claim))
  await eventually('the quota is active', () =>
    installation.kubectl('create', '--dry-run=server', '--filename', path).then(
      () => undefined,
      (error: unknown) => (String(error).includes('exceeded quota') ? true : undefined),
    ),
  )
  const build = await ended(await run(['true']))
  await installation.kubectl('delete', 'resourcequota', 'full')
  expect(build).toMatchObject({ status: 'error', reason: 'disk-unavailable' })
  expect(build.message).toContain('exceeded quota')
  await isCleared(build)
})
