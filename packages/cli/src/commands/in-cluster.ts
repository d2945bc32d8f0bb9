/** `in-cluster`: what the Helm chart runs in its pods. Settings come from the environment, secrets from mounted files. */
import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

export const inClusterCommands = [
  command('in-cluster register', {
    summary: 'Register agent and runtime, and keep the token in a Secret',
    options: {},
    async run({ settings, out }) {
      const [{ openPlace }, { register }] = await Promise.all([
        import('../in-cluster/place.ts'),
        import('../in-cluster/register.ts'),
      ])
      await register(openPlace(settings, out))
    },
  }),
  command('in-cluster certificates', {
    summary: "Make or renew the Docker daemons' certificate",
    options: {},
    async run({ settings, out }) {
      const [{ openPlace }, { keepCertificates }] = await Promise.all([
        import('../in-cluster/place.ts'),
        import('../in-cluster/certificates.ts'),
      ])
      await keepCertificates(openPlace(settings, out))
    },
  }),
  command('in-cluster apply-runtime', {
    summary: "Hand the specification of the chart's values to the server",
    options: {},
    async run({ settings, out }) {
      const [{ openPlace }, { applyRuntimes }] = await Promise.all([
        import('../in-cluster/place.ts'),
        import('../in-cluster/runtimes.ts'),
      ])
      await applyRuntimes(openPlace(settings, out))
    },
  }),
  command('in-cluster diff-runtime', {
    summary: "Say where the server's specification is not that of the chart's values",
    options: {},
    async run({ settings, out }) {
      const [{ openPlace }, { reportRuntimes }] = await Promise.all([
        import('../in-cluster/place.ts'),
        import('../in-cluster/runtimes.ts'),
      ])
      return (await reportRuntimes(openPlace(settings, out))) ? EXIT.success : EXIT.failed
    },
  }),
  command('in-cluster cleanup', {
    summary: 'Remove agent and runtime from the server',
    options: {},
    async run({ settings, out }) {
      const [{ openPlace }, { cleanUp }] = await Promise.all([
        import('../in-cluster/place.ts'),
        import('../in-cluster/cleanup.ts'),
      ])
      await cleanUp(openPlace(settings, out))
    },
  }),
  command('in-cluster check', {
    summary: 'Say whether the agent is heard and serves the runtime',
    options: {},
    async run({ settings, out }) {
      const [{ openPlace }, { check }] = await Promise.all([import('../in-cluster/place.ts'), import('../in-cluster/check.ts')])
      await check(openPlace(settings, out))
    },
  }),
]
