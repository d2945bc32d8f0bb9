import { LABEL, type KubeObject } from '@windlass/protocol'
import type { AttemptInput } from './attempt.ts'
import { SECRET_KEY, type AttemptNames } from './names.ts'
import { podMetadata, podPlacement, toEnv } from './pod.ts'

/** Port of the Docker API, with mutual TLS. */
export const DOCKER_PORT = 1300

/** The pod of the Docker daemon (runner specification 3.3): the only privileged one. */
export function dindPod(input: AttemptInput, names: AttemptNames): KubeObject {
  const settings = input.runtime.spec.dockerDaemonScheduler
  const { cluster } = input.runtime.spec.runtimeScheduler
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: podMetadata(names, { name: names.dind, app: 'dind', settings, labels: { [LABEL.volumeApp]: 'dind' } }),
    spec: {
      ...podPlacement(settings, cluster.nodeSelector),
      // With the headless service `dind` of the runtime: `<pod>.dind.<namespace>.svc`.
      hostname: names.dind,
      subdomain: 'dind',
      restartPolicy: 'Never',
      serviceAccountName: cluster.serviceAccount,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: settings.terminationGracePeriodSeconds,
      activeDeadlineSeconds: names.deadlineSeconds,
      containers: [
        {
          name: 'dind',
          image: settings.dindImage,
          imagePullPolicy: settings.imagePullPolicy,
          env: [...toEnv(settings.envVars), { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
          ports: [{ name: 'docker', containerPort: DOCKER_PORT, protocol: 'TCP' }],
          securityContext: { privileged: true },
          resources: settings.defaultDindResources,
          volumeMounts: [
            { name: 'dind', mountPath: '/var/lib/docker' },
            { name: 'certificates', mountPath: '/etc/ssl/cf', readOnly: true },
          ],
        },
      ],
      volumes: [
        { name: 'dind', persistentVolumeClaim: { claimName: names.claim } },
        { name: 'certificates', secret: { secretName: names.secret, defaultMode: 0o400, items: certificateFiles() } },
      ],
    },
  }
}

function certificateFiles(): { key: string; path: string }[] {
  return [SECRET_KEY.ca, SECRET_KEY.serverCert, SECRET_KEY.serverKey].map((key) => ({ key, path: key }))
}
