/** The values that the pages show, rendered: what a recipe promises is in the objects. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { RuntimeInput } from '../../../packages/protocol/src/index.ts'
import { type Helm, openHelm, type Rendered } from '../../support/helm.ts'
import { env, kinds, one, pod, pods, runtime, valuesOf } from './render.ts'

const BASE = {
  global: {
    codefreshHost: 'https://windlass.example.com',
    codefreshTokenSecretKeyRef: { name: 'key', key: 'key' },
    context: 'prod',
  },
}
const docs = join(import.meta.dirname, '../../../docs')

let helm: Helm
beforeAll(async () => {
  helm = await openHelm()
})
afterAll(() => helm?.close())

const render = (page: string, name: string): Promise<Rendered[]> => helm.template('windlass-runtime', BASE, valuesOf(page, name))
const storage = (objects: readonly Rendered[]): unknown => one(objects, 'StorageClass')
const schedulers = (objects: readonly Rendered[]): Record<'engine' | 'dind', Record<string, unknown>> => {
  const { spec } = runtime(objects)
  return { engine: spec.runtimeScheduler, dind: spec.dockerDaemonScheduler }
}

test('R059: every block of values on the pages renders, passes the schema, and makes a runtime that the server takes', async () => {
  const pages = ['install-helm.md', ...readdirSync(join(docs, 'clouds')).map((name) => `clouds/${name}`)]
  const blocks = pages.flatMap((page) =>
    [...readFileSync(join(docs, page), 'utf8').matchAll(/<!-- values: (\S+) -->/g)].map(([, name = '']) => ({ page, name })),
  )
  expect(blocks.length).toBeGreaterThan(20)
  for (const { page, name } of blocks) {
    const { metadata, spec } = runtime(await render(page, name))
    const { type, agent, isDefault, ...rest } = spec
    const input = { name: metadata.name, type, agent, isDefault, spec: rest }
    const parsed = RuntimeInput.safeParse(input)
    expect(parsed.error?.issues ?? [], `${page} ${name}`).toEqual([])
  }
})

test('R083, R148: GKE local SSD: class, cleaner and builds are on the SSD', async () => {
  const objects = await render('clouds/gke.md', 'gke-local-ssd')
  const dir = '/mnt/disks/ssd0/codefresh-volumes'
  const selector = { 'cloud.google.com/gke-local-ssd': 'true' }
  expect(storage(objects)).toMatchObject({ parameters: { volumeBackend: 'local', volumeParentDir: dir } })
  const monitor = pod(objects, 'DaemonSet', 'lv-monitor')
  expect(monitor.volumes).toContainEqual({ name: 'disks', hostPath: { path: dir, type: 'DirectoryOrCreate' } })
  expect(monitor.nodeSelector).toEqual(selector)
  const { engine, dind } = schedulers(objects)
  expect([engine['cluster'], dind['cluster']]).toMatchObject([{ nodeSelector: selector }, { nodeSelector: selector }])
})

test('R084, R149: GKE disks: zone and type in the class, the key from a Secret, given by reference or by file', async () => {
  const objects = await render('clouds/gke.md', 'gke-disk')
  const parameters = { volumeBackend: 'gcedisk', type: 'pd-ssd', zone: 'us-central1-a', fsType: 'ext4' }
  expect(storage(objects)).toMatchObject({ parameters })
  const provisioner = pod(objects, 'Deployment', 'volume-provisioner')
  expect(env(provisioner)['GOOGLE_APPLICATION_CREDENTIALS']).toBe('/etc/dind-volume-provisioner/credentials/key.json')
  expect(provisioner.volumes).toContainEqual({ name: 'credentials', secret: { secretName: 'google-key' } })
  expect(kinds(objects).filter((name) => name.startsWith('Secret/'))).toEqual([])
  const inline = await helm.template('windlass-runtime', BASE, {
    storage: { backend: 'gcedisk', gcedisk: { serviceAccountJson: '{"type":"service_account"}' } },
  })
  expect(one(inline, 'Secret')).toMatchObject({ stringData: { 'google-service-account.json': '{"type":"service_account"}' } })
})

test('R088, R150: workload identity: the account is annotated, and there is no key', async () => {
  const objects = await render('clouds/gke.md', 'gke-workload-identity')
  expect(one(objects, 'ServiceAccount', 'volume-provisioner-runner').metadata).toMatchObject({
    annotations: { 'iam.gke.io/gcp-service-account': 'disks@project.iam.gserviceaccount.com' },
  })
  expect(env(pod(objects, 'Deployment', 'volume-provisioner'))).not.toHaveProperty('GOOGLE_APPLICATION_CREDENTIALS')
})

test('R082, R088, R091, R151, R156, R157: EKS with EBS: node groups, zone, encryption and role', async () => {
  const objects = await render('clouds/eks.md', 'eks-ebs')
  expect(storage(objects)).toMatchObject({
    parameters: {
      volumeBackend: 'ebs',
      VolumeType: 'gp3',
      AvailabilityZone: 'us-west-2a',
      fsType: 'xfs',
      encrypted: 'true',
      kmsKeyId: 'arn:aws:kms:us-west-2:111122223333:key/1234abcd',
      iops: '5000',
      throughput: '500',
    },
  })
  const provisioner = pod(objects, 'Deployment', 'volume-provisioner')
  expect(provisioner.nodeSelector).toEqual({ 'node-type': 'addons' })
  expect(env(provisioner)).not.toHaveProperty('AWS_ACCESS_KEY_ID')
  expect(one(objects, 'ServiceAccount', 'volume-provisioner').metadata).toMatchObject({
    annotations: { 'eks.amazonaws.com/role-arn': expect.stringContaining('role/windlass-disks') },
  })
  const { engine, dind } = schedulers(objects)
  const taint = (value: string): object[] => [{ key: 'codefresh.io', operator: 'Equal', value, effect: 'NoSchedule' }]
  expect(engine).toMatchObject({ cluster: { nodeSelector: { 'node-type': 'engine' } }, tolerations: taint('engine') })
  expect(dind).toMatchObject({ cluster: { nodeSelector: { 'node-type': 'dind' } }, tolerations: taint('dinds') })
})

test('R087: the access key of EBS comes by reference, or from a Secret that the chart makes', async () => {
  const objects = await render('clouds/eks.md', 'eks-key')
  expect(env(pod(objects, 'Deployment', 'volume-provisioner'))).toMatchObject({
    AWS_ACCESS_KEY_ID: { secretKeyRef: { name: 'aws-key', key: 'id' } },
    AWS_SECRET_ACCESS_KEY: { secretKeyRef: { name: 'aws-key', key: 'secret' } },
  })
  const inline = await helm.template('windlass-runtime', BASE, {
    storage: { backend: 'ebs', ebs: { accessKeyId: 'ID', secretAccessKey: 'plain-key' } },
  })
  expect(one(inline, 'Secret')).toMatchObject({ stringData: { aws_access_key_id: 'ID', aws_secret_access_key: 'plain-key' } })
  expect(JSON.stringify(pods(inline))).not.toContain('plain-key')
})

test('R086: the policy on the page is the twelve actions that the provisioner needs', () => {
  const page = readFileSync(join(docs, 'clouds/eks.md'), 'utf8')
  const policy = /```json\n([\s\S]*?)```/.exec(page)?.[1] ?? ''
  const actions =
    'AttachVolume CreateSnapshot CreateTags CreateVolume DeleteSnapshot DeleteTags DeleteVolume DescribeInstances DescribeSnapshots DescribeTags DescribeVolumes DetachVolume'
  expect([...policy.matchAll(/"ec2:(\w+)"/g)].map(([, action]) => action).join(' ')).toBe(actions)
})

test('R154, R168: pods of builds keep autoscalers away, and carry the labels that other schedulers want', async () => {
  const { engine, dind } = schedulers(await render('install-helm.md', 'spot'))
  for (const scheduler of [engine, dind]) {
    expect(scheduler).toMatchObject({
      annotations: { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false', 'karpenter.sh/do-not-disrupt': 'true' },
      labels: { 'spotinst.io/restrict-scale-down': 'true' },
    })
  }
})

test('R155: ballast stands where builds would stand, below everybody', async () => {
  const objects = await render('install-helm.md', 'ballast')
  expect(one(objects, 'PriorityClass')).toMatchObject({ value: -1_000_000, preemptionPolicy: 'Never' })
  const dind = one(objects, 'Deployment', 'ballast-dind')
  expect(dind).toMatchObject({ spec: { replicas: 3 } })
  expect(pod(objects, 'Deployment', 'ballast-dind')).toMatchObject({
    priorityClassName: 'cf-ballast-codefresh',
    containers: [{ image: 'registry.k8s.io/pause:3.10', resources: { requests: { cpu: '2', memory: '4Gi' } } }],
    tolerations: [{ key: 'codefresh/dind' }],
  })
})

test('R064, R158, R160, R162: Rancher: the MTU is in daemon.json, the folder of disks is writable, the switch of TLS is accepted', async () => {
  const objects = await render('clouds/rke.md', 'rke')
  expect(one(objects, 'ConfigMap', 'codefresh-dind-config')).toMatchObject({
    data: { 'daemon.json': expect.stringContaining('"mtu": 1440') },
  })
  const mount = { name: 'disks', mountPath: '/var/lib/codefresh/dind-volumes' }
  expect(pod(objects, 'DaemonSet', 'lv-monitor').containers[0]).toMatchObject({
    volumeMounts: expect.arrayContaining([mount]),
  })
  const insecure = await render('clouds/rke.md', 'rke-insecure')
  expect(env(pod(insecure, 'Deployment', 'runner'))).toMatchObject({ NODE_TLS_REJECT_UNAUTHORIZED: '0' })
})

test('R085, R163, R164: AKS: managed disks, and azure.json of the node, by page, by --set and under either key', async () => {
  const page = await render('clouds/aks.md', 'aks')
  const set = await helm.template('windlass-runtime', BASE, { storage: { backend: 'azuredisk', mountAzureJson: true } })
  const old = await helm.template('windlass-runtime', BASE, {
    storage: { backend: 'azuredisk' },
    volumeProvisioner: { mountAzureJson: true },
  })
  for (const objects of [page, set, old]) {
    expect(storage(objects)).toMatchObject({
      parameters: { volumeBackend: 'azuredisk', kind: 'managed', skuName: 'Premium_LRS', cachingMode: 'None' },
    })
    const provisioner = pod(objects, 'Deployment', 'volume-provisioner')
    expect(provisioner.volumes).toContainEqual({
      name: 'azure-json',
      hostPath: { path: '/etc/kubernetes/azure.json', type: 'File' },
    })
    expect(env(provisioner)).toMatchObject({
      AZURE_CREDENTIAL_FILE: '/etc/kubernetes/azure.json',
      CLOUDCONFIG_AZURE: '/etc/kubernetes/azure.json',
    })
  }
  expect(pod(page, 'Deployment', 'volume-provisioner').securityContext).toMatchObject({ runAsUser: 0, runAsNonRoot: false })
})

test('R165, R167: arm64: every component and build goes to the arm nodes and tolerates their taint', async () => {
  const objects = await render('clouds/eks.md', 'eks-arm')
  const taint = { key: 'arch', operator: 'Equal', value: 'aarch64', effect: 'NoSchedule' }
  for (const [kind, name] of [
    ['Deployment', 'runner'],
    ['Deployment', 'volume-provisioner'],
    ['DaemonSet', 'lv-monitor'],
  ] as const) {
    expect(pod(objects, kind, name)).toMatchObject({
      nodeSelector: { arch: 'arm' },
      tolerations: expect.arrayContaining([taint]),
    })
  }
  const { engine, dind } = schedulers(objects)
  for (const scheduler of [engine, dind])
    expect(scheduler).toMatchObject({ cluster: { nodeSelector: { arch: 'arm' } }, tolerations: [taint] })
})

test('R053: rootless: the daemon runs as user 1000 on a disk that is handed over to it, and the cleaner too', async () => {
  const objects = await render('install-helm.md', 'rootless')
  const { dind } = schedulers(objects)
  expect(dind).toMatchObject({
    dindImage: 'windlass/dind:0.1.0-rootless',
    podSecurityContext: { runAsUser: 1000, fsGroup: 1000 },
    containerSecurityContext: { privileged: true, runAsUser: 1000 },
    volumeMounts: { dind: { mountPath: '/home/rootless/.local/share/docker' } },
    initContainers: [{ name: 'volume-permissions', command: ['chown', '1000:1000', '/home/rootless/.local/share/docker'] }],
  })
  const monitor = pod(objects, 'DaemonSet', 'lv-monitor')
  expect(monitor.securityContext).toMatchObject({ runAsUser: 1000, fsGroup: 1000, runAsNonRoot: true })
  expect(monitor.initContainers).toMatchObject([{ name: 'volume-permissions', securityContext: { runAsUser: 0 } }])
  expect(env(pod(objects, 'Deployment', 'volume-provisioner'))).toMatchObject({ IS_ROOTLESS: 'true' })
})

test('R054: OpenShift: the cluster chooses users, and what touches folders of nodes is privileged', async () => {
  const objects = await render('install-helm.md', 'openshift')
  for (const name of ['runner', 'volume-provisioner']) expect(pod(objects, 'Deployment', name).securityContext).toBeUndefined()
  const monitor = pod(objects, 'DaemonSet', 'lv-monitor')
  expect(monitor.containers[0]?.securityContext).toEqual({ privileged: true })
  expect(monitor.initContainers[0]?.securityContext ?? {}).not.toHaveProperty('runAsUser')
})

test('R097: a class of the cluster: no provisioner, no class, no cleaners', async () => {
  const objects = await render('clouds/bare-metal.md', 'own-class')
  expect(schedulers(objects).dind).toMatchObject({ pvcs: { dind: { storageClassName: 'standard' } } })
  expect(kinds(objects).filter((name) => /StorageClass|provisioner|lv-monitor|cleanup$/.test(name))).toEqual([
    'ServiceAccount/cf-runtime-cleanup',
    'Role/cf-runtime-cleanup',
    'RoleBinding/cf-runtime-cleanup',
    'Job/cf-runtime-cleanup',
  ])
})

test('R096: an installation per zone has names and a class of its own', async () => {
  const objects = await render('clouds/gke.md', 'gke-second-zone')
  expect(runtime(objects)).toMatchObject({ metadata: { name: 'gke-b/codefresh' }, spec: { agent: 'gke-b_codefresh' } })
  expect(storage(objects)).toMatchObject({ parameters: { zone: 'us-central1-b' } })
})
