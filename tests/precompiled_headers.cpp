// SPDX-License-Identifier: Apache-2.0
// The program that owns the precompiled headers of the tests: it does nothing.
int main() {}
