/** The values in the docs, rendered: the objects match the recipes. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { windlassImage } from '../../../packages/plan/src/index.ts'
import { RuntimeInput } from '../../../packages/protocol/src/index.ts'
import { type Helm, openHelm, type Rendered } from '../../support/helm.ts'
import { BASE, docs, env, kinds, one, pod, pods, runtime, valuesOf } from './render.ts'

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

test('every block of values in the docs renders, passes the schema, and gives a valid runtime (R059)', async () => {
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

test('GKE local SSD: class, cleaner and builds are on the SSD (R083, R148)', async () => {
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

test('GKE disks: zone and type in the class, the key from a Secret by reference or file (R084, R149)', async () => {
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

test('workload identity: the account is annotated, and there is no key (R088, R150)', async () => {
  const objects = await render('clouds/gke.md', 'gke-workload-identity')
  expect(one(objects, 'ServiceAccount', 'volume-provisioner-runner').metadata).toMatchObject({
    annotations: { 'iam.gke.io/gcp-service-account': 'disks@project.iam.gserviceaccount.com' },
  })
  expect(env(pod(objects, 'Deployment', 'volume-provisioner'))).not.toHaveProperty('GOOGLE_APPLICATION_CREDENTIALS')
})

test('EKS with EBS: node groups, zone, encryption and role (R082, R088, R091, R151, R156, R157)', async () => {
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

test('the access key of EBS comes by reference, or from a Secret of the chart (R087)', async () => {
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

test('the policy in the docs contains the twelve actions that the provisioner needs (R086)', () => {
  const page = readFileSync(join(docs, 'clouds/eks.md'), 'utf8')
  const policy = /```json\n([\s\S]*?)```/.exec(page)?.[1] ?? ''
  const actions =
    'AttachVolume CreateSnapshot CreateTags CreateVolume DeleteSnapshot DeleteTags DeleteVolume DescribeInstances DescribeSnapshots DescribeTags DescribeVolumes DetachVolume'
  expect([...policy.matchAll(/"ec2:(\w+)"/g)].map(([, action]) => action).join(' ')).toBe(actions)
})

test('pods of builds block autoscalers and have the labels for other schedulers (R154, R168)', async () => {
  const { engine, dind } = schedulers(await render('install-helm.md', 'spot'))
  for (const scheduler of [engine, dind]) {
    expect(scheduler).toMatchObject({
      annotations: { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false', 'karpenter.sh/do-not-disrupt': 'true' },
      labels: { 'spotinst.io/restrict-scale-down': 'true' },
    })
  }
})

test('ballast is placed like builds, with a lower priority than any pod (R155)', async () => {
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

test('Rancher: the MTU is in daemon.json, the folder of disks is writable, the TLS option is accepted (R064, R158, R160, R162)', async () => {
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

test('AKS: managed disks and azure.json of the node, by file, by --set and by either key (R085, R163, R164)', async () => {
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

test('arm64: every component and build runs on the arm nodes and tolerates their taint (R165, R167)', async () => {
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

test('rootless: the daemon runs as user 1000, which can write to the disk, and the cleaner stays root (R053)', async () => {
  const objects = await render('install-helm.md', 'rootless')
  const { dind } = schedulers(objects)
  expect(dind).toMatchObject({
    dindImage: windlassImage('dind-rootless'),
    podSecurityContext: { fsGroup: 1000, fsGroupChangePolicy: 'OnRootMismatch' },
    containerSecurityContext: { privileged: true, runAsUser: 1000, runAsGroup: 1000 },
    volumeMounts: { dind: { mountPath: '/home/rootless/.local/share/docker' } },
  })
  expect(dind).not.toHaveProperty('initContainers')
  expect(pod(objects, 'DaemonSet', 'lv-monitor').securityContext).toMatchObject({ runAsUser: 0 })
  expect(env(pod(objects, 'Deployment', 'volume-provisioner'))).toMatchObject({ IS_ROOTLESS: 'true' })
  expect(env(pod(objects, 'Deployment', 'runner'))).toMatchObject({ WINDLASS_AGENT_PRIVILEGED_IMAGES: 'windlass/dind-rootless' })
  const usual = await helm.template('windlass-runtime', BASE, {})
  expect(schedulers(usual).dind).not.toHaveProperty('podSecurityContext')
  expect(env(pod(usual, 'Deployment', 'volume-provisioner'))).not.toHaveProperty('IS_ROOTLESS')
})

test('rootless values of cf-runtime select the image of the project and keep users and init containers (R053)', async () => {
  const objects = await helm.template('windlass-runtime', BASE, {
    volumeProvisioner: {
      env: { IS_ROOTLESS: 'true' },
      'dind-lv-monitor': {
        podSecurityContext: { enabled: true, runAsUser: 1000, fsGroup: 1000, fsGroupChangePolicy: 'OnRootMismatch' },
        volumePermissions: { enabled: true },
      },
    },
    runtime: {
      dind: {
        image: { registry: 'quay.io', repository: 'codefresh/dind', tag: '3.0.25-rootless' },
        podSecurityContext: { runAsUser: 1000, fsGroup: 1000 },
        containerSecurityContext: { privileged: true, runAsUser: 1000 },
        volumeMounts: { dind: { name: 'dind', mountPath: '/home/rootless/.local/share/docker' } },
        volumePermissions: { enabled: true },
      },
    },
  })
  expect(schedulers(objects).dind).toMatchObject({
    dindImage: windlassImage('dind-rootless'),
    podSecurityContext: { runAsUser: 1000, fsGroup: 1000 },
    initContainers: [{ name: 'volume-permissions', command: ['chown', '1000:1000', '/home/rootless/.local/share/docker'] }],
  })
  const monitor = pod(objects, 'DaemonSet', 'lv-monitor')
  expect(monitor.securityContext).toMatchObject({ runAsUser: 1000, fsGroup: 1000, runAsNonRoot: true })
  expect(monitor.initContainers).toMatchObject([{ name: 'volume-permissions', securityContext: { runAsUser: 0 } }])
})

test('OpenShift: the cluster chooses users, and pods that change folders of nodes are privileged (R054)', async () => {
  const objects = await render('install-helm.md', 'openshift')
  for (const name of ['runner', 'volume-provisioner']) expect(pod(objects, 'Deployment', name).securityContext).toBeUndefined()
  const monitor = pod(objects, 'DaemonSet', 'lv-monitor')
  expect(monitor.containers[0]?.securityContext).toEqual({ privileged: true })
  expect(monitor.initContainers[0]?.securityContext ?? {}).not.toHaveProperty('runAsUser')
})

test('a class of the cluster: no provisioner, no class, no cleaners (R097)', async () => {
  const objects = await render('clouds/bare-metal.md', 'own-class')
  expect(schedulers(objects).dind).toMatchObject({ pvcs: { dind: { storageClassName: 'standard' } } })
  expect(kinds(objects).filter((name) => /StorageClass|provisioner|lv-monitor|cleanup$/.test(name))).toEqual([
    'ServiceAccount/cf-runtime-cleanup',
    'Role/cf-runtime-cleanup',
    'RoleBinding/cf-runtime-cleanup',
    'Job/cf-runtime-cleanup',
  ])
})

test('an installation per zone has its own names and class (R096)', async () => {
  const objects = await render('clouds/gke.md', 'gke-second-zone')
  expect(runtime(objects)).toMatchObject({ metadata: { name: 'gke-b/codefresh' }, spec: { agent: 'gke-b_codefresh' } })
  expect(storage(objects)).toMatchObject({ parameters: { zone: 'us-central1-b' } })
})
