/** Commands that the Helm chart runs in its pods. Settings come from the environment, secrets from mounted files. */
import { command } from '../../command.ts'
import { EXIT } from '../../exit-codes.ts'

export const inClusterCommands = [
  command('in-cluster register', {
    summary: 'Register agent and runtime, and store the token in a Secret',
    options: {},
    async run({ settings, out }) {
      const [{ openContext }, { register }] = await Promise.all([
        import('../../in-cluster/context.ts'),
        import('../../in-cluster/register.ts'),
      ])
      await register(openContext(settings, out))
    },
  }),
  command('in-cluster register-app-proxy', {
    summary: 'Register the app-proxy of a Runner, and store its token in a Secret and in files',
    options: {},
    async run({ settings, out }) {
      const [{ openContext }, { registerOwnAppProxy }] = await Promise.all([
        import('../../in-cluster/context.ts'),
        import('../../in-cluster/register-app-proxy.ts'),
      ])
      await registerOwnAppProxy(openContext(settings, out))
    },
  }),
  command('in-cluster certificates', {
    summary: "Create or renew the Docker daemons' certificate",
    options: {},
    async run({ settings, out }) {
      const [{ openContext }, { renewCertificates }] = await Promise.all([
        import('../../in-cluster/context.ts'),
        import('../../in-cluster/certificates.ts'),
      ])
      await renewCertificates(openContext(settings, out))
    },
  }),
  command('in-cluster apply-runtime', {
    summary: 'Apply the runtime specification of the chart values to the server',
    options: {},
    async run({ settings, out }) {
      const [{ openContext }, { applyRuntimes }] = await Promise.all([
        import('../../in-cluster/context.ts'),
        import('../../in-cluster/runtimes.ts'),
      ])
      await applyRuntimes(openContext(settings, out))
    },
  }),
  command('in-cluster diff-runtime', {
    summary: "Compare the server's runtime specification with the chart values",
    options: {},
    async run({ settings, out }) {
      const [{ openContext }, { reportRuntimes }] = await Promise.all([
        import('../../in-cluster/context.ts'),
        import('../../in-cluster/runtimes.ts'),
      ])
      return (await reportRuntimes(openContext(settings, out))) ? EXIT.success : EXIT.failed
    },
  }),
  command('in-cluster cleanup', {
    summary: 'Remove agent and runtime from the server',
    options: {},
    async run({ settings, out }) {
      const [{ openContext }, { cleanUp }] = await Promise.all([
        import('../../in-cluster/context.ts'),
        import('../../in-cluster/cleanup.ts'),
      ])
      await cleanUp(openContext(settings, out))
    },
  }),
  command('in-cluster check', {
    summary: 'Check that the agent is online and serves the runtime',
    options: {},
    async run({ settings, out }) {
      const [{ openContext }, { check }] = await Promise.all([
        import('../../in-cluster/context.ts'),
        import('../../in-cluster/check.ts'),
      ])
      await check(openContext(settings, out))
    },
  }),
  command('in-cluster register-gitops-runtime', {
    summary: 'Check the values of a GitOps runtime, register it, and store its token in a Secret',
    options: {},
    async run({ settings, out }) {
      const { registerGitopsRuntime } = await import('../../in-cluster/gitops/register.ts')
      await registerGitopsRuntime(settings, out)
    },
  }),
  command('in-cluster delete-gitops-runtime', {
    summary: 'Remove a GitOps runtime from the server, and its Git tokens from the namespace',
    options: {},
    async run({ settings, out }) {
      const { deleteGitopsRuntime } = await import('../../in-cluster/gitops/delete.ts')
      await deleteGitopsRuntime(settings, out)
    },
  }),
]
