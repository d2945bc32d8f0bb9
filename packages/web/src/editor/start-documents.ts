/** Documents that a new pipeline can start from. Each of them runs as it is. */
export interface StartDocument {
  readonly name: string
  readonly about: string
  readonly document: string
}

export const START_DOCUMENTS: readonly StartDocument[] = [
  {
    name: 'Hello',
    about: 'One step that greets. Runs at once, without a repository.',
    document: `version: '1.0'
steps:
  hello:
    title: Say hello
    image: alpine:3
    commands:
      - echo "Hello from build \${{CF_BUILD_ID}}"
`,
  },
  {
    name: 'Check in parallel',
    about: 'Two checks that start together, and a step that needs both.',
    document: `version: '1.0'
stages: [check, finish]
steps:
  checks:
    title: Checks
    type: parallel
    stage: check
    steps:
      one:
        image: alpine:3
        commands:
          - echo one
      two:
        image: alpine:3
        commands:
          - echo two
  finish:
    title: Finish
    image: alpine:3
    stage: finish
    commands:
      - echo both checks succeeded
`,
  },
  {
    name: 'Clone and test',
    about: 'Clones a repository and runs a command in it. Name your repository and command.',
    document: `version: '1.0'
stages: [prepare, test]
steps:
  main_clone:
    title: Clone
    type: git-clone
    stage: prepare
    repo: owner/name
    revision: \${{CF_BRANCH}}
  test:
    title: Test
    image: node:24
    stage: test
    working_directory: \${{main_clone}}
    commands:
      - npm ci
      - npm test
`,
  },
]
