import { LABEL, type KubeObject, type PodMount, type PodVolume, type RuntimeSpec } from '@windlass/protocol'
import type { AttemptInput } from './attempt.ts'
import { SECRET_KEY, type AttemptNames } from './names.ts'
import { withProxies } from './proxy-env.ts'
import { podMetadata, podPlacement, toEnv, toMounts, toVolumes } from './pod.ts'

/** Port of the Docker API, with mutual TLS. */
export const DOCKER_PORT = 1300

/** The Secret that an installer makes once for runtimes of protocol v1: certificate and key of every daemon of a namespace. */
const STATIC_CERTIFICATES = 'codefresh-certs-server'
/** Where the daemon's certificates lie, and its images and volumes. */
const CERTIFICATES_PATH = '/etc/ssl/cf'
const DATA_PATH = '/var/lib/docker'

type Dind = RuntimeSpec['dockerDaemonScheduler']

/** What the daemon's pod asks of its node: the volume provisioner must know it before the pod is there. */
export function dindPlacement({ runtime }: AttemptInput): Record<string, unknown> {
  const { runtimeScheduler, dockerDaemonScheduler: settings } = runtime.spec
  const { nodeSelector, tolerations, affinity } = podPlacement(
    settings,
    settings.cluster.nodeSelector ?? runtimeScheduler.cluster.nodeSelector,
  )
  return { nodeSelector, tolerations, affinity }
}

/** The pod of the Docker daemon (runner specification 3.3): the only privileged one. */
export function dindPod(input: AttemptInput, names: AttemptNames): KubeObject {
  const settings = input.runtime.spec.dockerDaemonScheduler
  const { cluster } = input.runtime.spec.runtimeScheduler
  const isV1 = input.protocol === 'v1'
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: podMetadata(names, { name: names.dind, app: 'dind', settings, labels: { [LABEL.volumeApp]: 'dind' } }),
    spec: {
      ...podPlacement(settings, settings.cluster.nodeSelector ?? cluster.nodeSelector),
      // With the headless service `dind` of the runtime: `<pod>.dind.<namespace>.svc`.
      hostname: names.dind,
      subdomain: 'dind',
      restartPolicy: 'Never',
      serviceAccountName: settings.cluster.serviceAccount ?? cluster.serviceAccount,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: settings.terminationGracePeriodSeconds,
      activeDeadlineSeconds: names.deadlineSeconds,
      ...(settings.podSecurityContext !== undefined && { securityContext: settings.podSecurityContext }),
      containers: [
        {
          name: 'dind',
          image: settings.dindImage,
          imagePullPolicy: settings.imagePullPolicy,
          env: dindEnv(input),
          ports: [{ name: 'docker', containerPort: DOCKER_PORT, protocol: 'TCP' }],
          securityContext: settings.containerSecurityContext ?? { privileged: true },
          resources: dindResources(settings),
          volumeMounts: dindMounts(settings),
        },
      ],
      volumes: dindVolumes(settings, names, isV1),
    },
  }
}

function dindEnv({ protocol, certificates, runtime }: AttemptInput): object[] {
  // Whom the daemon trusts: with v2 the authority lies beside the daemon's own certificate.
  const clients = protocol === 'v1' ? { CODEFRESH_CLIENT_CA_DATA: Buffer.from(certificates.ca).toString('base64') } : {}
  return [
    ...toEnv({ ...withProxies(runtime.spec.dockerDaemonScheduler.envVars), ...clients }),
    { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
  ]
}

/** What the daemon asks for and may use; with `requestsEqualLimits` it asks for all that it may use. */
function dindResources({ defaultDindResources: resources, requestsEqualLimits }: Dind): Dind['defaultDindResources'] {
  if (!requestsEqualLimits) return resources
  const { requests, limits } = resources
  const both = { ...requests, ...limits }
  return { requests: both, limits: both }
}

/** The disk stands where a mount of it says; else where the daemon looks for it. */
function dindMounts(settings: Dind): object[] {
  const mounts = withoutCertificates(settings.volumeMounts)
  const own = [
    ...('dind' in mounts ? [] : [{ name: 'dind', mountPath: DATA_PATH }]),
    { name: 'certificates', mountPath: CERTIFICATES_PATH, readOnly: true },
  ]
  return toMounts(own, mounts, settings.userVolumeMounts)
}

function dindVolumes(settings: Dind, names: AttemptNames, isV1: boolean): object[] {
  const certificates = isV1
    ? { secret: { secretName: STATIC_CERTIFICATES } }
    : { secret: { secretName: names.secret, defaultMode: 0o400, items: certificateFiles() } }
  const own = [
    { name: 'dind', persistentVolumeClaim: { claimName: names.claim } },
    { name: 'certificates', ...certificates },
  ]
  const more = toVolumes(withoutCertificates({ ...settings.volumes, ...settings.userVolumes }))
  return [...own, ...more.filter(({ name }) => !own.some((volume) => volume.name === name))]
}

/** Specifications written for the vendor's builds name the certificates themselves; ours come with the attempt. */
function withoutCertificates<T extends PodMount | PodVolume>(map: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(map).filter(([key, { name = key }]) => name !== STATIC_CERTIFICATES))
}

function certificateFiles(): { key: string; path: string }[] {
  return [SECRET_KEY.ca, SECRET_KEY.serverCert, SECRET_KEY.serverKey].map((key) => ({ key, path: key }))
}
