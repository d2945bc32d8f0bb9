import { USER_SECRET_PREFIX, USER_VARIABLE_PREFIX, type KubeObject } from '@windlass/protocol'
import type { AttemptInput } from './attempt.ts'
import { SECRET_KEY, type AttemptNames } from './names.ts'
import { DOCKER_SERVER_NAME } from './certificates.ts'
import { podMetadata, podPlacement, toEnv } from './pod.ts'

/** Where the engine finds its files. */
const CREDENTIAL_DIR = '/etc/windlass/engine'
const DOCKER_CERT_DIR = '/etc/windlass/docker'
const SPOOL_DIR = '/var/spool/windlass'
/** The user of the image. */
const UID = 10_001

/** The pod of the engine (runner specification 3.4), within the restricted Pod Security Standard. */
export function enginePod(input: AttemptInput, names: AttemptNames): KubeObject {
  const settings = input.runtime.spec.runtimeScheduler
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: podMetadata(names, { name: names.engine, app: 'runtime', settings, labels: {} }),
    spec: {
      ...podPlacement(settings, settings.cluster.nodeSelector),
      restartPolicy: 'Never',
      serviceAccountName: settings.cluster.serviceAccount,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: settings.terminationGracePeriodSeconds,
      activeDeadlineSeconds: names.deadlineSeconds,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: UID,
        runAsGroup: UID,
        fsGroup: UID,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      containers: [engineContainer(input)],
      volumes: [
        { name: 'credential', secret: { secretName: names.secret, defaultMode: 0o440, items: credentialFiles(input) } },
        { name: 'docker-certificates', secret: { secretName: names.secret, defaultMode: 0o440, items: dockerFiles() } },
        { name: 'spool', emptyDir: {} },
        { name: 'tmp', emptyDir: {} },
      ],
    },
  }
}

function engineContainer(input: AttemptInput): Record<string, unknown> {
  const settings = input.runtime.spec.runtimeScheduler
  return {
    name: 'engine',
    image: settings.image,
    imagePullPolicy: settings.imagePullPolicy,
    command: ['node', 'packages/engine/src/main.ts'],
    env: [...toEnv(settings.envVars), ...userVariables(settings.userEnvVars), ...toEnv(engineEnv(input))],
    securityContext: {
      runAsNonRoot: true,
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
    },
    resources: settings.resources,
    volumeMounts: [
      { name: 'credential', mountPath: CREDENTIAL_DIR, readOnly: true },
      { name: 'docker-certificates', mountPath: DOCKER_CERT_DIR, readOnly: true },
      { name: 'spool', mountPath: SPOOL_DIR },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  }
}

/** Those with a value are in the plan already. */
function userVariables(list: AttemptInput['runtime']['spec']['runtimeScheduler']['userEnvVars']): object[] {
  return list.flatMap(({ name, valueFrom }) => {
    if (valueFrom === undefined) return []
    const prefix = valueFrom.secretKeyRef === undefined ? USER_VARIABLE_PREFIX : USER_SECRET_PREFIX
    return [{ name: `${prefix}${name}`, valueFrom }]
  })
}

/** The address of the Docker daemon is not known yet: without DOCKER_HOST the engine asks the server for it. */
function engineEnv(input: AttemptInput): Record<string, string> {
  return {
    WINDLASS_ENGINE_SERVER_URL: input.serverUrl,
    WINDLASS_ENGINE_BOOTSTRAP_FILE: `${CREDENTIAL_DIR}/${SECRET_KEY.bootstrap}`,
    ...(input.serverCa !== undefined && { WINDLASS_ENGINE_CA: `${CREDENTIAL_DIR}/${SECRET_KEY.serverCa}` }),
    WINDLASS_ENGINE_SPOOL_DIR: SPOOL_DIR,
    WINDLASS_ENGINE_DOCKER_SERVER_NAME: DOCKER_SERVER_NAME,
    DOCKER_TLS_VERIFY: '1',
    DOCKER_CERT_PATH: DOCKER_CERT_DIR,
    HOME: '/tmp',
  }
}

function credentialFiles(input: AttemptInput): { key: string; path: string }[] {
  const keys = input.serverCa === undefined ? [SECRET_KEY.bootstrap] : [SECRET_KEY.bootstrap, SECRET_KEY.serverCa]
  return keys.map((key) => ({ key, path: key }))
}

function dockerFiles(): { key: string; path: string }[] {
  return [SECRET_KEY.ca, SECRET_KEY.clientCert, SECRET_KEY.clientKey].map((key) => ({ key, path: key }))
}
