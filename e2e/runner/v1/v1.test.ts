/** Builds through agent protocol 1 on a real cluster: claims and pods alone, lasting certificates, addresses by name. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, Build, Runtime } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { eventually, type Installation, startInstallation } from '../../support/installation.ts'
import { runProgram } from '../../support/process.ts'
import { openStage, type Stage } from '../volumes/stage.ts'
import { type ClusterDns, startClusterDns } from './cluster-dns.ts'

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
      // Disks are the provisioner's: this protocol knows no others.
      WINDLASS_AGENT_VOLUME_DIR: '',
    },
  })
  stage = await openStage({ namespace: NAMESPACE, isThere: true })
  dns = await startClusterDns(installation.cluster, NAMESPACE)
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
  await installation.client.call('PUT', `/v1/runtimes/${NAMESPACE}`, Runtime, {
    body: { name: NAMESPACE, agent: 'one-node', isDefault: true, spec: { runtimeScheduler, dockerDaemonScheduler } },
  })
})
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]()
  await dns?.close()
  await installation?.close()
})

/** What the certificate job of the chart does: a key, a request, the archive that the server answers, a Secret. */
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
    // The one image that a fresh disk has.
    steps: { hello: { image: installation.images['TOOLS_IMAGE'], commands } },
  })
  return installation.client.call('POST', '/v1/builds', Build, { body: { document } })
}

async function ended(build: Build): Promise<Build> {
  return eventually(
    `the build ends\n${installation.agent.log().slice(-3000)}`,
    async () => {
      const now = await installation.client.call('GET', `/v1/builds/${build.id}`, Build)
      return ['success', 'error', 'terminated'].includes(now.status) ? now : undefined
    },
    240_000,
  )
}

/** Names of what the cluster still has of a build. */
async function leftOf(build: Build): Promise<string[]> {
  const selector = `windlass.io/build=${build.id}`
  const names = await installation.kubectl(
    'get',
    'pods,persistentvolumeclaims,secrets',
    '--selector',
    selector,
    '--output',
    'name',
  )
  return names.split('\n').filter((name) => name !== '')
}

async function isCleared(build: Build): Promise<void> {
  await eventually('nothing is left of the build', async () => ((await leftOf(build)).length === 0 ? true : undefined), 120_000)
}

test('R226, R242: a build runs through an agent that polls: a claim and two pods, no Secret, and a daemon whose certificate lasts', async () => {
  const build = await run(['echo hello from protocol $((3 - 2))', 'sleep 3'])
  const pods = await eventually(
    'both pods are there',
    async () => {
      const left = await leftOf(build)
      return left.includes(`pod/engine-${build.id}`) ? left : undefined
    },
    120_000,
  )
  expect(pods.toSorted()).toEqual([
    `persistentvolumeclaim/pvc-dind-${build.id}`,
    `pod/dind-${build.id}`,
    `pod/engine-${build.id}`,
  ])
  expect(await ended(build)).toMatchObject({ status: 'success' })
  expect(await installation.client.text('GET', `/v1/builds/${build.id}/log`, {})).toContain('hello from protocol 1')
  await isCleared(build)
  expect(await installation.client.call('GET', '/v1/agents/one-node', Agent)).toMatchObject({ protocol: 1, health: 'healthy' })
})

test('R245: a running build that is terminated leaves no pod and no claim, and its disk is there for the next one', async () => {
  const build = await run(['echo running since $((1 + 1)) seconds', 'sleep 600'])
  await eventually(
    'the step runs',
    async () => {
      const log = await installation.client.text('GET', `/v1/builds/${build.id}/log`, {}).catch(() => '')
      return log.includes('running since 2 seconds') ? true : undefined
    },
    240_000,
  )
  await installation.client.call('POST', `/v1/builds/${build.id}/terminate`, z.unknown())
  expect(await ended(build)).toMatchObject({ status: 'terminated', reason: 'cancelled' })
  await isCleared(build)
})

test('what the cluster refuses ends the build in its own words', async () => {
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
  await eventually('the quota counts', () =>
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
