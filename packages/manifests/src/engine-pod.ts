import { SECRET_KEY, USER_SECRET_PREFIX, USER_VARIABLE_PREFIX, type KubeObject } from '@windlass/protocol'
import type { AttemptNames } from './names.ts'
import { DOCKER_SERVER_NAME } from './certificates.ts'
import { DOCKER_PORT } from './dind-pod.ts'
import { withProxies } from './proxy-env.ts'
import { podMetadata, podPlacement, toEnv, toMounts, toVolumes } from './pod.ts'
import type { AttemptInput, StoreMount } from './attempt-input.ts'

/** Folders of the engine. */
const CREDENTIAL_DIR = '/etc/windlass/engine'
const DOCKER_CERT_DIR = '/etc/windlass/docker'
const SPOOL_DIR = '/var/spool/windlass'
/** Port of the build metrics for Prometheus, if the runtime enables them. */
const METRICS_PORT = 9464
/** The user of the image. */
const UID = 10_001

/** Renders the pod of the engine, within the restricted Pod Security Standard. */
export function enginePod(input: AttemptInput, names: AttemptNames): KubeObject {
  const settings = input.runtime.spec.runtimeScheduler
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: podMetadata(names, { name: names.engine, app: 'runtime', settings, labels: {} }),
    spec: {
      ...podPlacement(settings, settings.cluster.nodeSelector),
      // An engine that dies is restarted on its spool, sends the rest of it, and ends: the attempt is over and its log is complete.
      restartPolicy: 'OnFailure',
      serviceAccountName: settings.cluster.serviceAccount,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: settings.terminationGracePeriodSeconds,
      activeDeadlineSeconds: names.deadlineSeconds,
      securityContext: settings.podSecurityContext ?? {
        runAsNonRoot: true,
        runAsUser: UID,
        runAsGroup: UID,
        fsGroup: UID,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      containers: [engineContainer(input, names)],
      volumes: engineVolumes(input, names),
    },
  }
}

function engineVolumes(input: AttemptInput, names: AttemptNames): object[] {
  const secret = (items: object[]): object => ({ secretName: names.secret, defaultMode: 0o440, items })
  const own = [
    ...(input.protocol === 'v1'
      ? []
      : [
          { name: 'credential', secret: secret(credentialFiles(input)) },
          { name: 'docker-certificates', secret: secret(dockerFiles()) },
        ]),
    { name: 'spool', emptyDir: {} },
    { name: 'tmp', emptyDir: {} },
  ]
  const more = [...storeVolumes(input), ...toVolumes(input.runtime.spec.runtimeScheduler.volumes)]
  return [...own, ...more.filter(({ name }) => !own.some((volume) => volume.name === name))]
}

function stores({ stores: list = [] }: AttemptInput): (StoreMount & { readonly name: string })[] {
  return list.map((store, index) => ({ ...store, name: `store-${index + 1}` }))
}

/** Optional volumes: the engine reports a missing one, whereas the pod would only wait. */
function storeVolumes(input: AttemptInput): { readonly name: string }[] {
  return stores(input).map(({ name, resourceType, resourceName }) =>
    resourceType === 'secret'
      ? { name, secret: { secretName: resourceName, optional: true, defaultMode: 0o440 } }
      : { name, configMap: { name: resourceName, optional: true } },
  )
}

function engineContainer(input: AttemptInput, names: AttemptNames): Record<string, unknown> {
  const settings = input.runtime.spec.runtimeScheduler
  return {
    name: 'engine',
    image: settings.image,
    imagePullPolicy: settings.imagePullPolicy,
    command: settings.command ?? ['node', 'dist/engine.js'],
    // Variables of the engine itself cannot be replaced.
    env: [...toEnv({ ...withProxies(settings.envVars), ...engineEnv(input, names) }), ...userVariables(settings.userEnvVars)],
    ...(settings.envVars['METRICS_PROMETHEUS_ENABLED'] === 'true' && {
      ports: [{ name: 'metrics', containerPort: METRICS_PORT, protocol: 'TCP' }],
    }),
    securityContext: settings.containerSecurityContext ?? {
      runAsNonRoot: true,
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
    },
    resources: settings.resources,
    volumeMounts: toMounts(
      [
        ...(input.protocol === 'v1'
          ? []
          : [
              { name: 'credential', mountPath: CREDENTIAL_DIR, readOnly: true },
              { name: 'docker-certificates', mountPath: DOCKER_CERT_DIR, readOnly: true },
            ]),
        { name: 'spool', mountPath: SPOOL_DIR },
        { name: 'tmp', mountPath: '/tmp' },
        ...stores(input).map(({ name, folder }) => ({ name, mountPath: folder, readOnly: true })),
      ],
      settings.volumeMounts,
    ),
  }
}

/** Returns the user variables with references; those with values are already in the plan. */
function userVariables(list: AttemptInput['runtime']['spec']['runtimeScheduler']['userEnvVars']): object[] {
  return list.flatMap(({ name, valueFrom }) => {
    if (valueFrom === undefined) return []
    const prefix = valueFrom.secretKeyRef === undefined ? USER_VARIABLE_PREFIX : USER_SECRET_PREFIX
    return [{ name: `${prefix}${name}`, valueFrom }]
  })
}

/**
 * Returns the variables of the engine itself. With v2 the address of the Docker daemon is not known yet: without DOCKER_HOST the engine
 * asks the server for it. With v1 the name below the headless service is used, and the certificate of the engine comes with the answer to
 * its claim.
 */
function engineEnv(input: AttemptInput, names: AttemptNames): Record<string, string> {
  const common = { WINDLASS_ENGINE_SERVER_URL: input.serverUrl, WINDLASS_ENGINE_SPOOL_DIR: SPOOL_DIR, HOME: '/tmp' }
  if (input.protocol === 'v1')
    return {
      ...common,
      WINDLASS_ENGINE_BOOTSTRAP: input.bootstrap,
      ...(input.serverCa !== undefined && { WINDLASS_ENGINE_CA_DATA: Buffer.from(input.serverCa).toString('base64') }),
      WINDLASS_ENGINE_DOCKER_HOST: `tcp://${names.dind}.dind.${names.namespace}.svc:${DOCKER_PORT}`,
    }
  return {
    ...common,
    WINDLASS_ENGINE_BOOTSTRAP_FILE: `${CREDENTIAL_DIR}/${SECRET_KEY.bootstrap}`,
    ...(input.serverCa !== undefined && { WINDLASS_ENGINE_CA: `${CREDENTIAL_DIR}/${SECRET_KEY.serverCa}` }),
    WINDLASS_ENGINE_DOCKER_SERVER_NAME: DOCKER_SERVER_NAME,
    ...(input.isWarm === true && { WINDLASS_ENGINE_WARM: 'true' }),
    DOCKER_TLS_VERIFY: '1',
    DOCKER_CERT_PATH: DOCKER_CERT_DIR,
  }
}

function credentialFiles(input: AttemptInput): { key: string; path: string }[] {
  const keys = input.serverCa === undefined ? [SECRET_KEY.bootstrap] : [SECRET_KEY.bootstrap, SECRET_KEY.serverCa]
  return keys.map((key) => ({ key, path: key }))
}

function dockerFiles(): { key: string; path: string }[] {
  return [SECRET_KEY.ca, SECRET_KEY.clientCert, SECRET_KEY.clientKey].map((key) => ({ key, path: key }))
}
