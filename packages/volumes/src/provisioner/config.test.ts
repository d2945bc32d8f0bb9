import { expect, test } from 'vitest'
import { provisionerConfig } from './config.ts'

test('has defaults and accepts the names of the Codefresh Deployment (R089)', () => {
  expect(provisionerConfig({})).toMatchObject({ THREADS: 4, RESYNC_SECONDS: 50, PORT: 8080, ROOTLESS: false })
  const theirs = {
    PROVISIONER_NAME: 'codefresh.io/dind-volume-provisioner-runner-ns',
    THREADINESS: '8',
    CREATE_DIND_LIMIT_CPU: '1',
    CREATE_DIND_REQUESTS_MEMORY: '64Mi',
    IS_ROOTLESS: 'true',
    PRIVILEGED_CONTAINER: 'true',
    DOCKER_REGISTRY: 'registry.example.com',
  }
  expect(provisionerConfig(theirs)).toMatchObject({
    NAME: 'codefresh.io/dind-volume-provisioner-runner-ns',
    THREADS: 8,
    HELPER_LIMIT_CPU: '1',
    HELPER_REQUESTS_MEMORY: '64Mi',
    ROOTLESS: true,
    PRIVILEGED_HELPER: true,
    REGISTRY: 'registry.example.com',
  })
})

test('prefers our names and names an invalid value', () => {
  expect(provisionerConfig({ THREADINESS: '8', WINDLASS_PROVISIONER_THREADS: '2' })).toMatchObject({ THREADS: 2 })
  expect(() => provisionerConfig({ IS_ROOTLESS: 'maybe' })).toThrow('WINDLASS_PROVISIONER_ROOTLESS: must be true or false')
})
