import type { RuntimeLayer } from './spec.ts'

/** Base layer of a runtime without `extends`. */
export const DEFAULT_PARENT = 'system/default/hybrid/k8s_low_limits'

/** Name prefix of base layers. Runtimes of users cannot have it. */
export const BASE_PREFIX = 'system/'

/** Annotations that keep node autoscalers from evicting pods of running builds. */
const DO_NOT_EVICT: Readonly<Record<string, string>> = {
  'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
  'karpenter.sh/do-not-disrupt': 'true',
}

const hybrid: RuntimeLayer = {
  nonComplete: true,
  description: 'Base of runtime environments in Kubernetes',
  runtimeScheduler: {
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { cpu: '1000m', memory: '2048Mi' } },
    annotations: DO_NOT_EVICT,
  },
  dockerDaemonScheduler: {
    annotations: DO_NOT_EVICT,
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
 * The base layers of the server. The daemon of `k8s_low_limits` has small requests and no limits, because a CPU limit of 400m makes every build
 * slow and a memory limit of 800Mi kills its steps.
 */
export const BASE_LAYERS: Readonly<Record<string, RuntimeLayer>> = {
  'system/default': {
    description: 'A Docker daemon on the same machine as the server or agent',
    runtimeScheduler: { resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { cpu: '1000m', memory: '2048Mi' } } },
    dockerDaemonScheduler: { defaultDindResources: { requests: { cpu: '400m', memory: '800Mi' } } },
  },
  'system/default/hybrid/k8s': hybrid,
  [DEFAULT_PARENT]: {
    extends: ['system/default/hybrid/k8s'],
    description: 'Kubernetes, with small requests and no limits for the Docker daemon',
    dockerDaemonScheduler: { defaultDindResources: { requests: { cpu: '400m', memory: '800Mi' }, limits: null } },
  },
  'system/default/hybrid/k8s_own_disks': {
    extends: [DEFAULT_PARENT],
    description: 'Like k8s_low_limits, but pipelines do not share disks',
    dockerDaemonScheduler: { pvcs: { dind: { reuseVolumeSelector: 'codefresh-app,io.codefresh.accountName,pipeline_id' } } },
  },
}
