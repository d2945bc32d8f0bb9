/**
 * Docker in Docker with TLS, as jobs of GitLab use it: a job with a Docker client, and a privileged service that makes certificates in a shared folder in memory.
 * The images `docker` and `docker:dind` are not at hand: those of the daemon of a build stand in for both, and the service does what the entrypoint of
 * `docker:dind` does.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensureImages } from '../support/images.ts'
import { openRunnerScene, type RunnerScene } from './support/runner-scene.ts'

let scene: RunnerScene
let image: string
beforeAll(async () => {
  scene = await openRunnerScene(`gitlab-docker-${process.pid}`)
  ;({ DIND_IMAGE: image = '' } = await ensureImages('dind'))
  await scene.cluster.load(image)
  await scene.startManager({
    kubernetes: [
      'privileged = true',
      '[[runners.kubernetes.volumes.empty_dir]]',
      'name = "docker-certs"',
      'mount_path = "/certs/client"',
      'medium = "Memory"',
      '[[runners.kubernetes.volumes.empty_dir]]',
      'name = "docker-data"',
      'mount_path = "/var/lib/docker"',
    ].join('\n'),
  })
})
afterAll(() => scene?.close())

/** Makes the certificates of `DOCKER_TLS_CERTDIR` and starts the daemon with them. */
const DAEMON = [
  'set -e',
  'server=/certs/server; mkdir -p $server; cd /certs/client',
  'openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ca -keyout $server/ca-key.pem -out ca.pem',
  'sign() { openssl req -newkey rsa:2048 -nodes -subj "/CN=$2" -keyout "$1/key.pem" -out "$1/csr.pem"',
  '  printf "%s\\n" "subjectAltName=DNS:docker,DNS:localhost,IP:127.0.0.1" "extendedKeyUsage=serverAuth,clientAuth" >"$1/ext"',
  '  openssl x509 -req -in "$1/csr.pem" -CA ca.pem -CAkey $server/ca-key.pem -CAcreateserial -days 2 -extfile "$1/ext" -out "$1/cert.pem"; }',
  'sign $server docker; sign /certs/client client',
  'exec dockerd --host tcp://0.0.0.0:2376 --tlsverify --tlscacert ca.pem --tlscert $server/cert.pem --tlskey $server/key.pem',
].join('\n')

test('a job builds an image with Docker in Docker over TLS (G082)', async () => {
  const variables = Object.entries({
    DOCKER_TLS_CERTDIR: '/certs',
    DOCKER_HOST: 'tcp://docker:2376',
    DOCKER_TLS_VERIFY: '1',
    DOCKER_CERT_PATH: '/certs/client',
  }).map(([key, value]) => ({ key, value, public: true }))
  const job = scene.enqueue(
    [
      'until docker version; do sleep 1; done',
      `printf 'FROM scratch\\nCOPY greeting.txt /\\nLABEL made=here\\n' >Dockerfile`,
      'docker build --tag demo/app:1 .',
      `echo "label $(docker image inspect --format '{{.Config.Labels.made}}' demo/app:1)"`,
      `docker create --name made demo/app:1 none && docker cp made:/greeting.txt - | tar -xO`,
      'df -t tmpfs /certs/client',
    ],
    {
      image: { name: image },
      services: [{ name: image, alias: 'docker', entrypoint: ['bash', '-c'], command: [DAEMON] }],
      variables,
    },
  )
  await scene.ended(job)
  expect(job.final, job.trace.toString()).toMatchObject({ state: 'success' })
  expect(job.trace.toString()).toContain('label here')
  expect(job.trace.toString()).toContain('hello from the repository')
})
