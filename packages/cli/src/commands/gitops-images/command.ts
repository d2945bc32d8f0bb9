/** Commands for reports of images: what a registry, a forge and Jira know of an image, for the server. The tasks of the workflow of the chart are these commands. */
import { command, flag, integer, oneOf, text, texts } from '../../command.ts'

const output = oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml'])
const image = [{ name: '<image>', summary: 'Image with its registry, and a tag or a digest' }]
const reporting = {
  workflow: text('--workflow <name>', 'Name of the workflow or job that reports; its reports of an image are one (default: cli)'),
  workflowUrl: text('--workflow-url <url>', 'Page of the workflow or job'),
  registryConfig: text('--registry-config <file>', 'File with logins of registries, in the form of config.json of Docker'),
  registryIntegration: text(
    '--registry-integration <folder>',
    'Folder that may have this file as config.json, such as a mounted Secret',
  ),
  plainHttp: flag('--plain-http', 'Call the registry without TLS; one on this machine is always called so'),
  serverUrl: text('--server-url <url>', 'Base URL of the server, with --token-file (default: that of the context)'),
  tokenFile: text('--token-file <file>', 'File with a token of a GitOps runtime, or an API key (default: that of the context)'),
  output,
}
const git = {
  gitRepo: text('--git-repo <repo>', 'Repository: its URL, or OWNER/NAME'),
  gitBranch: text('--git-branch <branch>', 'Branch of the commit'),
  gitCommit: text('--git-commit <hash>', 'Commit from which the image was built'),
}

export const gitopsImageCommands = [
  command('gitops image list', {
    summary: 'List reports of images with their commits and issues, newest first',
    options: {
      image: text('--image <image>', 'Only of this image; a tag or a digest limits it further'),
      commit: text('--commit <hash>', 'Only of images of this commit'),
      limit: integer('--limit <count>', 'Number of reports, at most 100 (default: 50)'),
      output,
    },
    examples: ['windlass gitops image list', 'windlass gitops image list --image registry.example.com/acme/shop:v1'],
    run: async (invocation) => (await import('./list.ts')).listReports(invocation),
  }),
  command('gitops image get', {
    summary: 'Show the newest report of an image',
    arguments: [{ name: '<image>', summary: 'Image with its registry, and a tag or a digest; or the id of a report' }],
    options: { output },
    examples: ['windlass gitops image get registry.example.com/acme/shop:v1'],
    run: async (invocation) => (await import('./list.ts')).getReport(invocation),
  }),
  command('gitops image report', {
    summary: 'Read an image in its registry, and report it to the server',
    about:
      'Reports what the registry says: digest, tag, size, platforms, and the repository and commit of the labels of OCI. Builds of this server report what they push by themselves. ' +
      'The same report again changes nothing.',
    arguments: image,
    options: {
      ...reporting,
      ...git,
      issue: texts('--issue <key>', 'Key of an issue; can be repeated'),
      referenceFile: text('--reference-file <file>', 'Write NAME@DIGEST to this file, for the commands that follow'),
    },
    examples: [
      'windlass gitops image report registry.example.com/acme/shop:v1 --registry-config ~/.docker/config.json',
      'windlass gitops image report registry.example.com/acme/shop:v1 --git-repo acme/shop --git-branch main --workflow "shop #12"',
    ],
    run: async (invocation) => (await import('./report.ts')).reportImage(invocation),
  }),
  command('gitops image git-info', {
    summary: 'Read the commit of an image and its pull request in a forge, and report them',
    about:
      'The forge is that of the options, or of a folder with the files provider, url and token, such as a mounted Secret. Without a forge only the options are reported.',
    arguments: image,
    options: {
      ...reporting,
      ...git,
      provider: text('--provider <name>', 'github, gitlab, gitea or bitbucket-server'),
      url: text('--url <url>', 'URL of the forge as people open it'),
      gitTokenFile: text('--git-token-file <file>', 'File with a Git token that may read the repository (default: none)'),
      integration: text(
        '--integration <folder>',
        'Folder with the files provider, url and token, and repositories that limits what is read',
      ),
    },
    examples: [
      'windlass gitops image git-info registry.example.com/acme/shop:v1 --provider github --url https://github.com --git-repo acme/shop --git-branch main',
    ],
    run: async (invocation) => (await import('./report.ts')).reportGit(invocation),
  }),
  command('gitops image jira-info', {
    summary: 'Read the issues that a text names in Jira, and report them for an image',
    about:
      'Jira is that of a folder with the files url, username and token, such as a mounted Secret. Without it only the keys of the issues are reported.',
    arguments: image,
    options: {
      ...reporting,
      message: text('--message <text>', 'Text with keys of issues, such as the title of a pull request'),
      project: texts('--project <key>', 'Only issues of this project, also in small letters; can be repeated'),
      integration: text(
        '--integration <folder>',
        'Folder with the files url, username and token, and projects that limits what is read',
      ),
    },
    examples: [
      'windlass gitops image jira-info registry.example.com/acme/shop:v1 --message "SHOP-12: mend the cart" --integration /etc/jira',
    ],
    run: async (invocation) => (await import('./report.ts')).reportIssues(invocation),
  }),
]
