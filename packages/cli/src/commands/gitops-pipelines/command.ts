/** Commands for the delivery pipelines of a GitOps runtime: files in its Git sources, with which events of a repository start workflows. */
import { command, flag, oneOf, text, texts } from '../../command.ts'

const runtime = [{ name: '<runtime>', summary: 'Name of the GitOps runtime' }]
const common = {
  runtimeUrl: text('--runtime-url <url>', 'URL of the runtime (default: that of its tunnel)'),
  output: oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml']),
}

export const gitopsPipelineCommands = [
  command('gitops pipeline create', {
    summary: 'Create a delivery pipeline: commit its event source, sensor and workflow template to a Git source',
    about:
      'The runtime commits the files in your name, with your Git token, and Argo CD applies them. Then it creates the webhook of the repository, for which your token needs the right to manage webhooks. ' +
      'The workflow clones the commit and runs a script in an image, or is one of a template that exists. The namespace needs an EventBus of Argo Events. Repeating the command makes no further commit.',
    arguments: [...runtime, { name: '<name>', summary: 'Name of the pipeline' }],
    options: {
      repo: text('--repo <url>', 'Repository whose events start it; required'),
      branch: text('--branch <name>', 'Branch that is pushed, or into which a pull request goes (default: any)'),
      event: texts('--event <event>', 'push or pull-request; can be repeated (default: push)'),
      image: text('--image <image>', 'Image in which the script runs'),
      script: text('--script <script>', 'Script of sh, with the variables BRANCH and REVISION; - is standard input'),
      gitSecret: text('--git-secret <name>', 'Secret of the namespace with username and password, for a private repository'),
      workflowTemplate: text(
        '--workflow-template <name>',
        'Template with the parameters repository, branch and revision, instead of a script',
      ),
      serviceAccount: text(
        '--service-account <name>',
        'Account with which the sensor creates workflows (default: "default" of the namespace, which usually may not)',
      ),
      gitSource: text('--git-source <name>', 'Git source that gets the files (default: the only one)'),
      noWebhook: flag('--no-webhook', 'Do not create the webhook'),
      message: text('-m, --message <text>', 'Message of the commit (default: what it does)'),
      dryRun: flag('--dry-run', 'Check and print the files, and change nothing'),
      ...common,
    },
    examples: [
      "windlass gitops pipeline create prod shop-test --repo https://git.example.com/acme/shop.git --branch main --image node:24 --script 'npm test'",
      'windlass gitops pipeline create prod shop-build --repo https://git.example.com/acme/shop.git --workflow-template build',
    ],
    run: async (invocation) => (await import('./action.ts')).createPipeline(invocation),
  }),
  command('gitops pipeline list', {
    summary: 'List the delivery pipelines of a GitOps runtime: the triggers of the sensors in its Git sources',
    arguments: runtime,
    options: common,
    examples: ['windlass gitops pipeline list prod'],
    run: async (invocation) => (await import('./action.ts')).listPipelines(invocation),
  }),
]
