import { defined } from '@windlass/kit/defined'
import {
  DAEMON_CERTIFICATE,
  LABEL,
  SECRET_KEY,
  type KubeObject,
  type PodMount,
  type PodVolume,
  type RuntimeSpec,
} from '@windlass/protocol'
import type { AttemptNames } from './names.ts'
import { withProxies } from './proxy-env.ts'
import { podMetadata, podPlacement, toEnv, toMounts, toVolumes } from './pod.ts'
import type { AttemptInput } from './attempt-input.ts'

/** Port of the Docker API, with mutual TLS. */
export const DOCKER_PORT = 1300

/** Folders of the daemon's certificates, and of its images and volumes. */
const CERTIFICATES_PATH = '/etc/ssl/cf'
const DATA_PATH = '/var/lib/docker'

type Dind = RuntimeSpec['dockerDaemonScheduler']

/** Returns the node requirements of the daemon's pod. The volume provisioner needs them before the pod exists. */
export function dindPlacement({ runtime }: AttemptInput): Record<string, unknown> {
  const { runtimeScheduler, dockerDaemonScheduler: settings } = runtime.spec
  const { nodeSelector, tolerations, affinity } = podPlacement(
    settings,
    settings.cluster.nodeSelector ?? runtimeScheduler.cluster.nodeSelector,
  )
  return { nodeSelector, tolerations, affinity }
}

/** Returns the path of the disk in the container of the daemon. */
export function diskPath({ volumeMounts }: Dind): string {
  return volumeMounts['dind']?.mountPath ?? DATA_PATH
}

/** Returns the security context of the container of the daemon. */
export function daemonSecurity({ containerSecurityContext }: Dind): Readonly<Record<string, unknown>> {
  return containerSecurityContext ?? { privileged: true }
}

/** Renders the pod of the Docker daemon, the only privileged one. */
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
      ...defined({ securityContext: settings.podSecurityContext }),
      containers: [
        {
          name: 'dind',
          image: settings.dindImage,
          imagePullPolicy: settings.imagePullPolicy,
          env: dindEnv(input),
          ports: [{ name: 'docker', containerPort: DOCKER_PORT, protocol: 'TCP' }],
          securityContext: daemonSecurity(settings),
          resources: dindResources(settings),
          volumeMounts: dindMounts(settings),
        },
      ],
      volumes: dindVolumes(settings, names, isV1),
    },
  }
}

function dindEnv({ protocol, certificates, runtime }: AttemptInput): object[] {
  // The CA of the clients; with v2 it is in a file next to the daemon's own certificate.
  const clients = protocol === 'v1' ? { CODEFRESH_CLIENT_CA_DATA: Buffer.from(certificates.ca).toString('base64') } : {}
  return [
    ...toEnv({ ...withProxies(runtime.spec.dockerDaemonScheduler.envVars), ...clients }),
    { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
  ]
}

/** Returns the resources of the daemon. With `requestsEqualLimits`, requests are set to the limits. */
function dindResources({ defaultDindResources: resources, requestsEqualLimits }: Dind): Dind['defaultDindResources'] {
  if (!requestsEqualLimits) return resources
  const { requests, limits } = resources
  const both = { ...requests, ...limits }
  return { requests: both, limits: both }
}

/** Returns the mounts of the daemon. A mount of the disk in the settings replaces the default path. */
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
    ? { secret: { secretName: DAEMON_CERTIFICATE } }
    : { secret: { secretName: names.secret, defaultMode: 0o400, items: certificateFiles() } }
  const own = [
    { name: 'dind', persistentVolumeClaim: { claimName: names.claim } },
    { name: 'certificates', ...certificates },
  ]
  const more = toVolumes(withoutCertificates({ ...settings.volumes, ...settings.userVolumes }))
  return [...own, ...more.filter(({ name }) => !own.some((volume) => volume.name === name))]
}

/** Removes the certificates that specifications for Codefresh builds mount; ours come with the attempt. */
function withoutCertificates<T extends PodMount | PodVolume>(map: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(map).filter(([key, { name = key }]) => name !== DAEMON_CERTIFICATE))
}

function certificateFiles(): { key: string; path: string }[] {
  return [SECRET_KEY.ca, SECRET_KEY.serverCert, SECRET_KEY.serverKey].map((key) => ({ key, path: key }))
}
