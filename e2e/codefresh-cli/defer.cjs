/**
 * Loaded by Node before the command line of Codefresh, whose files stay as they are. Each of its processes loads two thousand files, most of them of
 * packages that few commands use: those are loaded by the command that uses them.
 */
'use strict'
const Module = require('node:module')

const DEFERRED = new Set([
  '@kubernetes/client-node',
  'dockerode',
  'inquirer',
  'kubernetes-client',
  'kubernetes-client/backends/request',
  'mongodb',
])
const OWN_FILES = /node_modules\/codefresh\/lib\//

/** Stands for a function or an object that is loaded when it is used. */
const standIn = (load) =>
  new Proxy(function () {}, {
    get: (_target, key) => Reflect.get(load(), key),
    apply: (_target, self, args) => Reflect.apply(load(), self, args),
    construct: (_target, args) => Reflect.construct(load(), args),
  })

const load = Module._load
Module._load = function (name, parent, isMain) {
  const whole = () => load.call(this, name, parent, isMain)
  if (!DEFERRED.has(name) || !OWN_FILES.test(parent?.filename ?? '')) return whole()
  // What a file takes from a package when it is loaded is used later.
  return new Proxy(function () {}, {
    get: (_target, key) => standIn(() => whole()[key]),
    apply: (_target, self, args) => Reflect.apply(whole(), self, args),
    construct: (_target, args) => Reflect.construct(whole(), args),
  })
}
