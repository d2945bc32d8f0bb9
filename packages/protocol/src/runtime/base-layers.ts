import type { RuntimeLayer } from './spec.ts'

/** What a runtime that names no parent extends. */
export const DEFAULT_PARENT = 'system/default/hybrid/k8s_low_limits'

/** Names of base layers begin with this; runtimes of users do not. */
export const BASE_PREFIX = 'system/'

/** Annotations by which autoscalers of nodes leave a pod of a running build alone. */
const STAYS: Readonly<Record<string, string>> = {
  'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
  'karpenter.sh/do-not-disrupt': 'true',
}

const hybrid: RuntimeLayer = {
  nonComplete: true,
  description: 'Skeleton of a runtime environment in a cluster of the user',
  runtimeScheduler: {
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { cpu: '1000m', memory: '2048Mi' } },
    annotations: STAYS,
  },
  dockerDaemonScheduler: {
    annotations: STAYS,
    defaultDindResources: { requests: { cpu: '390m', memory: '255Mi' }, limits: { cpu: '2500m', memory: '4096Mi' } },
    terminationGracePeriodSeconds: 300,
    envVars: {
      CLEAN_DOCKER: 'true',
      CLEAN_PERIOD_BUILDS: '5',
      IMAGE_RETAIN_PERIOD: '14400',
      VOLUMES_RETAIN_PERIOD: '14400',
    },
    tolerations: { 'codefresh/dind': { key: 'codefresh/dind', operator: 'Exists', effect: 'NoSchedule' } },
    volumes: { 'dind-config': { configMap: { name: 'codefresh-dind-config', optional: true } } },
    volumeMounts: {
      'dind-config': { mountPath: '/etc/docker/daemon.json', subPath: 'daemon.json', readOnly: true },
    },
  },
}

/**
 * The layers that come with the server (runner specification 4.6). The daemon of `k8s_low_limits` asks for little and may use what its node
 * has: a limit of 400m processor makes every build slow, and one of 800Mi kills its steps.
 */
export const BASE_LAYERS: Readonly<Record<string, RuntimeLayer>> = {
  'system/default': {
    description: 'A Docker daemon beside the server or on one machine',
    runtimeScheduler: { resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { cpu: '1000m', memory: '2048Mi' } } },
    dockerDaemonScheduler: { defaultDindResources: { requests: { cpu: '400m', memory: '800Mi' } } },
  },
  'system/default/hybrid/k8s': hybrid,
  [DEFAULT_PARENT]: {
    extends: ['system/default/hybrid/k8s'],
    description: 'A cluster of the user, with small requests',
    dockerDaemonScheduler: { defaultDindResources: { requests: { cpu: '400m', memory: '800Mi' }, limits: null } },
  },
  'system/default/hybrid/k8s_own_disks': {
    extends: [DEFAULT_PARENT],
    description: 'As k8s_low_limits; no pipeline finds the images and files of another one on its disk',
    dockerDaemonScheduler: { pvcs: { dind: { reuseVolumeSelector: 'codefresh-app,io.codefresh.accountName,pipeline_id' } } },
  },
}
